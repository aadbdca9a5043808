#pragma once

#include <cstdint>

// Q4_1: 32 nibbles under one F16 scale and one F16 minimum (ggml: block_q4_1).
//
//   byte   0   1   2   3     4         5              19
//        +---+---+---+---+---------+---------+-- --+---------+
//        |   d   |   m   | q16  q0 | q17  q1 | ... | q31 q15 |
//        +---+---+---+---+---------+---------+-- --+---------+
//                         high low: element j in the low, element j + 16 in the high nibble of byte 4 + j
//
// value[j] = q[j] * d + m, each step rounded to F32.
//
// Encoding: m = min, d = (max - m) / 15, q = round((x - m) / d).
namespace plait::dtype {

struct BlockQ4_1 {
    static constexpr int kElements = 32;
    uint16_t d;  // F16
    uint16_t m;  // F16
    uint8_t q[kElements / 2];
};
static_assert(sizeof(BlockQ4_1) == 20);

void decode_q4_1(const void* blocks, float* values, int64_t n);
void encode_q4_1(const float* values, void* blocks, int64_t n);

}  // namespace plait::dtype
