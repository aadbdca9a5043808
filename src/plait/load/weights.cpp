#include "plait/load/weights.h"

#include <unistd.h>

#include "plait/base/ensure.h"
#include "plait/load/mirrored.h"

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

// Which weights are used where the file has them: all that the device can, unless that is next to nothing.
// The system maps the pages around one that is read too, so a few norms between matrices that were copied
// would cost more than a copy of them.
std::vector<bool> staying_in_file(const gguf::File& file, std::span<const ir::WeightSpec> specs,
                                  std::span<const device::StoredTensor> tensors, std::span<const int> layouts,
                                  device::Device& device, bool use_mapping) {
    constexpr int64_t kLeastShare = 64;  // one in so many bytes
    std::vector<bool> stays(specs.size(), false);
    int64_t all = 0, staying = 0;
    for (size_t weight = 0; weight < specs.size(); ++weight) {
        if (layouts[weight] < 0) continue;
        const gguf::Tensor& tensor = source(file, specs[weight]);
        const device::BufferType& type = device.buffer_type(layouts[weight]);
        stays[weight] = use_mapping && type.can_wrap(tensors[weight], readable_behind(file, tensor));
        const int64_t bytes = specs[weight].desc.bytes();
        all += bytes;
        if (stays[weight]) staying += bytes;
    }
    if (staying * kLeastShare < all) stays.assign(specs.size(), false);
    return stays;
}

class Loader {
  public:
    Loader(const gguf::File& file, std::span<const ir::WeightSpec> specs,
           std::span<const device::StoredTensor> tensors, std::span<const int> layouts,
           device::Device& device, device::Stream& stream, const LoadOptions& options)
        : file_(file),
          specs_(specs),
          tensors_(tensors),
          layouts_(layouts),
          device_(device),
          stream_(stream),
          options_(options) {}

    Weights run() {
        weights_.regions.resize(specs_.size());
        wrap_what_stays();
        allocate_the_rest();
        copy_the_rest();
        return std::move(weights_);
    }

  private:
    void wrap_what_stays() {
        const std::vector<bool> stays =
            staying_in_file(file_, specs_, tensors_, layouts_, device_, options_.use_mapping);
        for (size_t weight = 0; weight < specs_.size(); ++weight) {
            if (!stays[weight]) continue;
            const gguf::Tensor& tensor = source(file_, specs_[weight]);
            auto buffer = device_.buffer_type(layouts_[weight])
                              .wrap(tensor.data, tensors_[weight], readable_behind(file_, tensor));
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
            std::vector<device::StoredTensor> stored;
            std::vector<size_t> held;
            for (size_t weight = 0; weight < specs_.size(); ++weight) {
                if (!is_pending(weight) || layouts_[weight] != type) continue;
                stored.push_back(tensors_[weight]);
                held.push_back(weight);
            }
            if (held.empty()) continue;
            auto buffer = device_.buffer_type(type).alloc(stored, device::Usage::weights);
            for (size_t i = 0; i < held.size(); ++i) {
                weights_.regions[held[i]] = device::whole(*buffer, static_cast<int32_t>(i));
                to_copy_.push_back(held[i]);
                bytes_to_copy_ += stored[i].desc.bytes();
            }
            weights_.buffers.push_back(std::move(buffer));
        }
    }

    void copy_the_rest() {
        int64_t done = 0;
        for (size_t weight : to_copy_) {
            const gguf::Tensor& tensor = source(file_, specs_[weight]);
            stream_.write(weights_.regions[weight], tensor.data);
            file_.forget(tensor);  // else the process would hold it twice
            done += specs_[weight].desc.bytes();
            if (options_.progress) options_.progress(done, bytes_to_copy_);
        }
        stream_.synchronise();
        // Reading the next tensor brought the end of the one before back.
        for (size_t weight : to_copy_) file_.forget(source(file_, specs_[weight]));
    }

    const gguf::File& file_;
    std::span<const ir::WeightSpec> specs_;
    std::span<const device::StoredTensor> tensors_;
    std::span<const int> layouts_;
    device::Device& device_;
    device::Stream& stream_;
    const LoadOptions& options_;
    Weights weights_;
    std::vector<size_t> to_copy_;
    int64_t bytes_to_copy_ = 0;
};

}  // namespace

std::vector<WeightBytes> weight_bytes(const gguf::File& file, std::span<const ir::WeightSpec> specs,
                                      std::span<const device::StoredTensor> tensors,
                                      std::span<const int> layouts, device::Device& device,
                                      bool use_mapping) {
    const std::vector<bool> stays = staying_in_file(file, specs, tensors, layouts, device, use_mapping);
    std::vector<WeightBytes> bytes(static_cast<size_t>(device.describe().member_count()));
    for (size_t weight = 0; weight < specs.size(); ++weight) {
        if (layouts[weight] < 0) continue;
        const device::StoredTensor& tensor = tensors[weight];
        const device::BufferType& type = device.buffer_type(layouts[weight]);
        std::vector<int64_t> held = type.member_bytes(tensor);
        for (size_t member = 0; stays[weight] && member < held.size(); ++member) {
            if (held[member] > 0)
                held[member] = ir::stored_desc(tensor.desc, tensor.layout, static_cast<int>(member)).bytes();
        }
        const std::vector<int64_t> mirrored = mirrored_bytes(tensor, held);
        for (size_t member = 0; member < bytes.size(); ++member) {
            (stays[weight] ? bytes[member].mapped : bytes[member].stored) += held[member];
            bytes[member].mirrored += mirrored[member];
        }
    }
    return bytes;
}

Weights load_weights(const gguf::File& file, std::span<const ir::WeightSpec> specs,
                     std::span<const device::StoredTensor> tensors, std::span<const int> layouts,
                     device::Device& device, device::Stream& stream, const LoadOptions& options) {
    return Loader(file, specs, tensors, layouts, device, stream, options).run();
}

}  // namespace plait::load
