#include "plait/device/region.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "plait/base/error.h"

namespace plait::device {

void check_region(const char* device, const char* operation, const Region& region, int64_t bytes) {
    const auto tensors = region.buffer->tensors();
    const bool exists = region.tensor >= 0 && static_cast<size_t>(region.tensor) < tensors.size();
    if (!exists) {
        throw Error(fmt::format("{}: {}: the buffer has {} tensors, there is no tensor {}", device, operation,
                                tensors.size(), region.tensor));
    }
    const int64_t limit = tensors[static_cast<size_t>(region.tensor)].bytes();
    const int64_t last_piece = region.rows > 1 ? region.stride * (region.rows - 1) : 0;
    const bool shaped = region.offset >= 0 && region.row_bytes >= 0 && region.rows >= 0 && region.stride >= 0;
    if (!shaped || region.offset > limit || last_piece > limit - region.offset ||
        region.row_bytes > limit - region.offset - last_piece) {
        throw Error(fmt::format(
            "{}: {}: {} pieces of {} bytes from {} on, {} apart, do not lie in a tensor of {} bytes", device,
            operation, region.rows, region.row_bytes, region.offset, region.stride, limit));
    }
    if (bytes != region.bytes()) {
        throw Error(fmt::format("{}: {}: the region has {} bytes, the other side {}", device, operation,
                                region.bytes(), bytes));
    }
}

void scatter(std::byte* tensor, const Region& to, std::span<const std::byte> from) {
    const auto piece = static_cast<size_t>(to.row_bytes);
    if (piece == 0) return;
    for (int64_t row = 0; row < to.rows; ++row) {
        std::memcpy(tensor + to.offset + row * to.stride, from.data() + static_cast<size_t>(row) * piece,
                    piece);
    }
}

void gather(const std::byte* tensor, const Region& from, std::span<std::byte> to) {
    const auto piece = static_cast<size_t>(from.row_bytes);
    if (piece == 0) return;
    for (int64_t row = 0; row < from.rows; ++row) {
        std::memcpy(to.data() + static_cast<size_t>(row) * piece, tensor + from.offset + row * from.stride,
                    piece);
    }
}

void copy_pieces(const std::byte* from_tensor, const Region& from, std::byte* to_tensor, const Region& to) {
    for (int64_t done = 0; done < from.bytes();) {
        const int64_t from_column = done % from.row_bytes;
        const int64_t to_column = done % to.row_bytes;
        const int64_t bytes = std::min(from.row_bytes - from_column, to.row_bytes - to_column);
        std::memcpy(to_tensor + to.offset + done / to.row_bytes * to.stride + to_column,
                    from_tensor + from.offset + done / from.row_bytes * from.stride + from_column,
                    static_cast<size_t>(bytes));
        done += bytes;
    }
}

}  // namespace plait::device
