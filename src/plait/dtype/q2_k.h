#pragma once

#include <cstdint>

// Q2_K: 16 groups of 16 two-bit codes, each group with a 4-bit scale and a 4-bit minimum (ggml: block_q2_K).
//
//   byte   0         15   16         79   80  81  82  83
//        +----+- -+----+------+- -+------+---+---+---+---+
//        |m0s0|   | m s| codes|   |      |   d   | dmin  |
//        +----+- -+----+------+- -+------+---+---+---+---+
//
// value = q * (d * s) - dmin * m, each step rounded to F32.
//
// Half h of the block (128 values) has bytes 16 + 32 h ..: value 128 h + 32 p + j is bits 2 p, 2 p + 1 of
// byte j.
namespace plait::dtype {

struct BlockQ2_K {
    static constexpr int kElements = 256;
    uint8_t scales[16];  // low nibble: scale, high nibble: minimum
    uint8_t q[kElements / 4];
    uint16_t d;     // F16
    uint16_t dmin;  // F16
};
static_assert(sizeof(BlockQ2_K) == 84);

void decode_q2_k(const void* blocks, float* values, int64_t n);
void tame_q2_k(void* blocks, int64_t n, float deviation);

}  // namespace plait::dtype
