#pragma once

#include <array>
#include <cstdint>

namespace plait::choice {

// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
// easy as 1, 2, 3" (SC 2011): ten keyed rounds turn a counter into four independent 32-bit words. There is no
// state, so a value can be computed anywhere, in any order. Integer arithmetic only: the same on every
// machine.
std::array<uint32_t, 4> philox4x32_10(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

}  // namespace plait::choice
