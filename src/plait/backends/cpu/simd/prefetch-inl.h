#pragma once

#include <cstdint>

// Asking the memory for weights before they are read.
namespace plait::backends::cpu::simd {
namespace {

// How far ahead of itself each stream of a single token asks the memory for weights. The hardware's own
// prefetching restarts with every row group, which lasts only 18 blocks in a small model; asking for the same
// place in the next tile covers each byte once. A tile too large for any second-level cache has long streams,
// which only need help to run further ahead. docs/performance.md has the numbers.
inline int64_t prefetch_distance(int64_t tile_bytes) {
    constexpr int64_t kLargestTile = 64 * 1024;
    constexpr int64_t kStreamAhead = 1024;
    return tile_bytes <= kLargestTile ? tile_bytes : kStreamAhead;
}

// May point behind the weights: a prefetch does not fault.
template <int Bytes>
void prefetch(const uint8_t* p) {
#pragma GCC unroll 8
    for (int line = 0; line < Bytes; line += 64) __builtin_prefetch(p + line, 0, 2);
}

}  // namespace
}  // namespace plait::backends::cpu::simd
