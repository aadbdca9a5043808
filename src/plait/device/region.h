#pragma once

#include <cstddef>
#include <span>

#include "plait/device/device.h"

// For implementers of the contract whose memory the transfer code can address.
namespace plait::device {

// Throws Error, naming the device and the operation, unless the region lies within its tensor's row layout
// and `bytes` is what it holds.
void check_region(const char* device, const char* operation, const Region& region, int64_t bytes);

// Between the pieces of a region, whose tensor begins at `tensor`, and contiguous bytes.
void scatter(std::byte* tensor, const Region& to, std::span<const std::byte> from);
void gather(const std::byte* tensor, const Region& from, std::span<std::byte> to);

// Between two regions of equal byte counts that do not overlap, whatever their pieces.
void copy_pieces(const std::byte* from_tensor, const Region& from, std::byte* to_tensor, const Region& to);

}  // namespace plait::device
