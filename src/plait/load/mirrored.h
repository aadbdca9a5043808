#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/device/device.h"

namespace plait::load {

// Of the bytes that each member of a device takes for a tensor, those of values that another member has too:
// all of a mirrored tensor, heads that two members read, blocks that a border goes through. A member that
// takes no bytes has nothing. Pure.
std::vector<int64_t> mirrored_bytes(const device::StoredTensor& tensor, std::span<const int64_t> bytes);

}  // namespace plait::load
