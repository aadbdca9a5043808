#pragma once

#include <cstdint>

// Q5_K: 8 groups of 32 five-bit codes, each group with a 6-bit scale and a 6-bit minimum (ggml: block_q5_K).
//
//   byte   0   1   2   3   4         15   16         47   48             175
//        +---+---+---+---+---+- -+-----+------+- -+-----+---------+-- --+---------+
//        |   d   | dmin  | scales, min | fifth bits     | q32  q0 | ... |         |   value as in Q4_K
//        +---+---+---+---+---+- -+-----+------+- -+-----+---------+-- --+---------+
//
// Nibbles, scales and minimums lie as in Q4_K; the fifth bit of value j of group g is bit g of byte 16 + j.
namespace plait::dtype {

struct BlockQ5_K {
    static constexpr int kElements = 256;
    uint16_t d;     // F16
    uint16_t dmin;  // F16
    uint8_t scales[12];
    uint8_t high[kElements / 8];
    uint8_t low[kElements / 2];
};
static_assert(sizeof(BlockQ5_K) == 176);

void decode_q5_k(const void* blocks, float* values, int64_t n);
void tame_q5_k(void* blocks, int64_t n, float deviation);

}  // namespace plait::dtype
