#pragma once

#include <cstdint>

// Q5_1: 32 five-bit codes under one F16 scale and one F16 minimum (ggml: block_q5_1).
//
//   byte   0   1   2   3   4      7     8              23
//        +---+---+---+---+---+--+---+---------+-- --+---------+
//        |   d   |   m   | bit 4 of | q16  q0 | ... | q31 q15 |      value[j] = q[j] * d + m, each step
//        |       |       | q0..q31  | low four bits           |      rounded to F32
//        +---+---+---+---+---+--+---+---------+-- --+---------+
//
// Encoding as in Q4_1: m = min, d = (max - m) / 31, q = round((x - m) / d).
namespace plait::dtype {

struct BlockQ5_1 {
    static constexpr int kElements = 32;
    uint16_t d;  // F16
    uint16_t m;  // F16
    uint8_t high[kElements / 8];
    uint8_t low[kElements / 2];
};
static_assert(sizeof(BlockQ5_1) == 24);

void decode_q5_1(const void* blocks, float* values, int64_t n);
void encode_q5_1(const float* values, void* blocks, int64_t n);

}  // namespace plait::dtype
