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
std::vector<bool> staying_in_file(const ModelWeights& weights, bool use_mapping) {
    constexpr int64_t kLeastShare = 64;  // one in so many bytes
    std::vector<bool> stays(weights.specs.size(), false);
    int64_t all = 0, staying = 0;
    for (size_t weight = 0; weight < weights.specs.size(); ++weight) {
        if (weights.layouts[weight] < 0) continue;
        const int64_t behind = readable_behind(weights.file, source(weights.file, weights.specs[weight]));
        stays[weight] = use_mapping && weights.type_of(weight).can_wrap(weights.tensors[weight], behind);
        const int64_t bytes = weights.specs[weight].desc.bytes();
        all += bytes;
        if (stays[weight]) staying += bytes;
    }
    if (staying * kLeastShare < all) stays.assign(weights.specs.size(), false);
    return stays;
}

// By member, images that need no loading; empty where there are none.
std::vector<device::Image> cached_images(const LoadOptions& options, size_t weight) {
    return options.cache == nullptr ? std::vector<device::Image>() : options.cache->images(weight);
}

class Loader {
  public:
    Loader(const ModelWeights& model, device::Stream& stream, const LoadOptions& options)
        : model_(model), stream_(stream), options_(options) {}

    Weights run() {
        weights_.regions.resize(model_.specs.size());
        wrap_what_stays();
        wrap_what_is_cached();
        allocate_the_rest();
        copy_the_rest();
        return std::move(weights_);
    }

  private:
    void wrap_what_stays() {
        const std::vector<bool> stays = staying_in_file(model_, options_.use_mapping);
        for (size_t weight = 0; weight < stays.size(); ++weight) {
            if (!stays[weight]) continue;
            const gguf::Tensor& tensor = source_of(weight);
            hold(weight, model_.type_of(weight).wrap(tensor.data, model_.tensors[weight],
                                                     readable_behind(model_.file, tensor)));
        }
    }

    void wrap_what_is_cached() {
        for (size_t weight = 0; weight < model_.specs.size(); ++weight) {
            const std::vector<device::Image> images = cached_images(options_, weight);
            if (images.empty()) continue;
            hold(weight, model_.type_of(weight).wrap_images(images, model_.tensors[weight]));
        }
    }

    void hold(size_t weight, std::unique_ptr<device::Buffer> wrapped) {
        ENSURE(wrapped != nullptr, "memory the host can read can be the host's");
        weights_.regions[weight] = device::whole(*wrapped, 0);
        weights_.buffers.push_back(std::move(wrapped));
    }

    const gguf::Tensor& source_of(size_t weight) const { return source(model_.file, model_.specs[weight]); }

    bool is_pending(size_t weight) const {
        return model_.layouts[weight] >= 0 && weights_.regions[weight].buffer == nullptr;
    }

    // One buffer for each buffer type that still has tensors to hold.
    void allocate_the_rest() {
        const auto types = static_cast<int>(model_.device.describe().buffer_types.size());
        for (int type = 0; type < types; ++type) {
            std::vector<device::StoredTensor> stored;
            std::vector<size_t> held;
            for (size_t weight = 0; weight < model_.specs.size(); ++weight) {
                if (!is_pending(weight) || model_.layouts[weight] != type) continue;
                stored.push_back(model_.tensors[weight]);
                held.push_back(weight);
            }
            if (held.empty()) continue;
            auto buffer = model_.device.buffer_type(type).alloc(stored, device::Usage::weights);
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
            const gguf::Tensor& tensor = source_of(weight);
            stream_.write(weights_.regions[weight], tensor.data);
            model_.file.forget(tensor);  // else the process would hold it twice
            done += model_.specs[weight].desc.bytes();
            if (options_.progress) options_.progress(done, bytes_to_copy_);
        }
        stream_.synchronise();
        // Reading the next tensor brought the end of the one before back.
        for (size_t weight : to_copy_) model_.file.forget(source_of(weight));
    }

    const ModelWeights& model_;
    device::Stream& stream_;
    const LoadOptions& options_;
    Weights weights_;
    std::vector<size_t> to_copy_;
    int64_t bytes_to_copy_ = 0;
};

}  // namespace

std::vector<WeightBytes> weight_bytes(const ModelWeights& weights, const LoadOptions& options) {
    const std::vector<bool> stays = staying_in_file(weights, options.use_mapping);
    std::vector<WeightBytes> bytes(static_cast<size_t>(weights.device.describe().member_count()));
    for (size_t weight = 0; weight < weights.specs.size(); ++weight) {
        if (weights.layouts[weight] < 0) continue;
        const device::StoredTensor& tensor = weights.tensors[weight];
        const bool mapped = stays[weight] || !cached_images(options, weight).empty();
        std::vector<int64_t> held = weights.type_of(weight).member_bytes(tensor);
        for (size_t member = 0; stays[weight] && member < held.size(); ++member) {
            if (held[member] > 0)
                held[member] = ir::stored_desc(tensor.desc, tensor.layout, static_cast<int>(member)).bytes();
        }
        const std::vector<int64_t> mirrored = mirrored_bytes(tensor, held);
        for (size_t member = 0; member < bytes.size(); ++member) {
            (mapped ? bytes[member].mapped : bytes[member].stored) += held[member];
            bytes[member].mirrored += mirrored[member];
        }
    }
    return bytes;
}

Weights load_weights(const ModelWeights& weights, device::Stream& stream, const LoadOptions& options) {
    return Loader(weights, stream, options).run();
}

}  // namespace plait::load
