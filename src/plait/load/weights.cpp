#include "plait/load/weights.h"

#include <unistd.h>

#include "plait/base/ensure.h"

namespace plait::load {
namespace {

const gguf::Tensor& source(const gguf::File& file, const ir::WeightSpec& spec) {
    const gguf::Tensor* tensor = file.find_tensor(spec.name);
    ENSURE(tensor != nullptr && static_cast<int64_t>(tensor->data.size()) == spec.desc.bytes(), spec.name);
    return *tensor;
}

// Bytes behind a tensor that can be read: to the end of the file's last page, which the system fills with
// zeros.
int64_t readable_behind(const gguf::File& file, const gguf::Tensor& tensor) {
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    const uint64_t mapped = (file.part_of(tensor).bytes.size() + page - 1) / page * page;
    return static_cast<int64_t>(mapped - (file.offset_of(tensor) + tensor.data.size()));
}

bool can_stay_in_file(const gguf::File& file, const ir::WeightSpec& spec, const device::BufferType& type) {
    const device::BufferTypeDescription& description = type.describe();
    return description.host_readable && readable_behind(file, source(file, spec)) >= description.over_read;
}

class Loader {
  public:
    Loader(const gguf::File& file, std::span<const ir::WeightSpec> specs, std::span<const int> layouts,
           device::Device& device, device::Stream& stream, const LoadOptions& options)
        : file_(file),
          specs_(specs),
          layouts_(layouts),
          device_(device),
          stream_(stream),
          options_(options) {}

    Weights run() {
        weights_.regions.resize(specs_.size());
        if (options_.use_mapping) wrap_what_can_stay();
        allocate_the_rest();
        copy_the_rest();
        return std::move(weights_);
    }

  private:
    void wrap_what_can_stay() {
        for (size_t weight = 0; weight < specs_.size(); ++weight) {
            if (layouts_[weight] < 0) continue;
            device::BufferType& type = device_.buffer_type(layouts_[weight]);
            if (!can_stay_in_file(file_, specs_[weight], type)) continue;
            const gguf::Tensor& tensor = source(file_, specs_[weight]);
            auto buffer = type.wrap(tensor.data, specs_[weight].desc, readable_behind(file_, tensor));
            ENSURE(buffer != nullptr, "memory the host can read can be the host's");
            weights_.regions[weight] = device::whole(*buffer, 0);
            weights_.buffers.push_back(std::move(buffer));
        }
    }

    bool is_pending(size_t weight) const {
        return layouts_[weight] >= 0 && weights_.regions[weight].buffer == nullptr;
    }

    // One buffer for each buffer type that still has tensors to hold.
    void allocate_the_rest() {
        const auto types = static_cast<int>(device_.describe().buffer_types.size());
        for (int type = 0; type < types; ++type) {
            std::vector<ir::TensorDesc> descs;
            std::vector<size_t> held;
            for (size_t weight = 0; weight < specs_.size(); ++weight) {
                if (!is_pending(weight) || layouts_[weight] != type) continue;
                descs.push_back(specs_[weight].desc);
                held.push_back(weight);
            }
            if (held.empty()) continue;
            auto buffer = device_.buffer_type(type).alloc(descs, device::Usage::weights);
            for (size_t i = 0; i < held.size(); ++i) {
                weights_.regions[held[i]] = device::whole(*buffer, static_cast<int32_t>(i));
                to_copy_.push_back(held[i]);
                bytes_to_copy_ += descs[i].bytes();
            }
            weights_.buffers.push_back(std::move(buffer));
        }
    }

    void copy_the_rest() {
        int64_t done = 0;
        for (size_t weight : to_copy_) {
            stream_.write(weights_.regions[weight], source(file_, specs_[weight]).data);
            done += specs_[weight].desc.bytes();
            if (options_.progress) options_.progress(done, bytes_to_copy_);
        }
        stream_.synchronise();
    }

    const gguf::File& file_;
    std::span<const ir::WeightSpec> specs_;
    std::span<const int> layouts_;
    device::Device& device_;
    device::Stream& stream_;
    const LoadOptions& options_;
    Weights weights_;
    std::vector<size_t> to_copy_;
    int64_t bytes_to_copy_ = 0;
};

}  // namespace

WeightBytes weight_bytes(const gguf::File& file, std::span<const ir::WeightSpec> specs,
                         std::span<const int> layouts, device::Device& device, bool use_mapping) {
    WeightBytes bytes;
    for (size_t weight = 0; weight < specs.size(); ++weight) {
        if (layouts[weight] < 0) continue;
        const device::BufferType& type = device.buffer_type(layouts[weight]);
        if (use_mapping && can_stay_in_file(file, specs[weight], type)) {
            bytes.mapped += specs[weight].desc.bytes();
        } else {
            bytes.stored += type.bytes(specs[weight].desc);
        }
    }
    return bytes;
}

Weights load_weights(const gguf::File& file, std::span<const ir::WeightSpec> specs,
                     std::span<const int> layouts, device::Device& device, device::Stream& stream,
                     const LoadOptions& options) {
    return Loader(file, specs, layouts, device, stream, options).run();
}

}  // namespace plait::load
