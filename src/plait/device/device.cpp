#include "plait/device/device.h"

#include "plait/base/ensure.h"

namespace plait::device {

BufferType& Device::row_buffer_type() {
    const int index = describe().find_layout(kRowLayout);
    ENSURE(index >= 0, "every device stores plain rows");
    return buffer_type(index);
}

Region whole(Buffer& buffer, int32_t tensor) {
    const int64_t bytes = buffer.tensors()[static_cast<size_t>(tensor)].bytes();
    return {.buffer = &buffer, .tensor = tensor, .offset = 0, .row_bytes = bytes, .rows = 1, .stride = bytes};
}

}  // namespace plait::device
