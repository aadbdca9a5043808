#pragma once

#include <cstdint>

// Q5_0: 32 five-bit codes minus 16 under one F16 scale (ggml: block_q5_0).
//
//   byte   0   1   2      5     6              21
//        +---+---+---+--+---+---------+-- --+---------+
//        |   d   | bit 4 of | q16  q0 | ... | q31 q15 |      value[j] = (q[j] - 16) * d
//        |       | q0..q31  | low four bits           |
//        +---+---+---+--+---+---------+-- --+---------+
//                 one bit each, q0 lowest; nibbles as in Q4_0
//
// Encoding as in Q4_0: d = x / -16 for the x of largest magnitude, q = round(x / d) + 16.
namespace plait::dtype {

struct BlockQ5_0 {
    static constexpr int kElements = 32;
    uint16_t d;  // F16
    uint8_t high[kElements / 8];
    uint8_t low[kElements / 2];
};
static_assert(sizeof(BlockQ5_0) == 22);

void decode_q5_0(const void* blocks, float* values, int64_t n);
void encode_q5_0(const float* values, void* blocks, int64_t n);

}  // namespace plait::dtype
