#pragma once

#include <cstdint>

// Q4_K: 8 groups of 32 nibbles, each group with a 6-bit scale and a 6-bit minimum (ggml: block_q4_K).
//
//   byte   0   1   2   3   4         15   16               143
//        +---+---+---+---+---+- -+-----+---------+-- --+---------+
//        |   d   | dmin  | scales, min | q32  q0 | ... |         |
//        +---+---+---+---+---+- -+-----+---------+-- --+---------+
//
// value = q * (d * s) - dmin * m, each step rounded to F32.
//
// Groups 2 g and 2 g + 1 share bytes 16 + 32 g ..: value j of the first is the low, of the second the high
// nibble of byte j. Scales and minimums: k_scales.h.
namespace plait::dtype {

struct BlockQ4_K {
    static constexpr int kElements = 256;
    uint16_t d;     // F16
    uint16_t dmin;  // F16
    uint8_t scales[12];
    uint8_t q[kElements / 2];
};
static_assert(sizeof(BlockQ4_K) == 144);

void decode_q4_k(const void* blocks, float* values, int64_t n);
void tame_q4_k(void* blocks, int64_t n, float deviation);

}  // namespace plait::dtype
