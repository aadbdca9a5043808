#include "plait/device/device.h"

#include "plait/base/ensure.h"

namespace plait::device {

BufferType& Device::row_buffer_type() {
    const int index = describe().find_layout(kRowLayout);
    ENSURE(index >= 0, "every device stores plain rows");
    return buffer_type(index);
}

Placement Device::place_model(std::span<const ir::WeightSpec> weights,
                              std::span<const ir::StateGroupSpec> groups) {
    Placement placement;
    placement.weights.resize(weights.size());
    for (const ir::StateGroupSpec& group : groups)
        placement.state.resize(placement.state.size() + group.tensors.size());
    return placement;
}

void Device::join(Communicator& /*communicator*/, int /*member*/) {
    ENSURE(false, "a device joins what it can embed");
}

std::unique_ptr<Buffer> BufferType::alloc(std::span<const ir::TensorDesc> tensors, Usage usage) {
    const std::vector<StoredTensor> stored(tensors.begin(), tensors.end());
    return alloc(std::span<const StoredTensor>(stored), usage);
}

std::vector<ImageDescription> BufferType::describe_images(const StoredTensor& /*tensor*/) const { return {}; }

std::unique_ptr<Buffer> BufferType::wrap_images(std::span<const Image> /*images*/,
                                                const StoredTensor& /*tensor*/) {
    return nullptr;
}

std::vector<Image> Buffer::images(int32_t /*tensor*/) const { return {}; }

Region whole(Buffer& buffer, int32_t tensor) {
    const int64_t bytes = buffer.tensors()[static_cast<size_t>(tensor)].bytes();
    return {.buffer = &buffer, .tensor = tensor, .offset = 0, .row_bytes = bytes, .rows = 1, .stride = bytes};
}

}  // namespace plait::device
