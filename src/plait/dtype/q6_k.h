#pragma once

#include <cstdint>

// Q6_K: 16 groups of 16 six-bit codes, each group with a signed byte as scale (ggml: block_q6_K).
//
//   byte   0       127  128        191  192       207  208 209
//        +-----+- -+-----+-----+- -+-----+-----+- -+-----+---+---+
//        | low nibbles   | upper 2 bits  | 8-bit scales  |   d   |   value = (q - 32) * (d * s)
//        +-----+- -+-----+-----+- -+-----+-----+- -+-----+---+---+
//
// Half h of the block (128 values) has nibbles 64 h .. and bits 128 + 32 h ..: value 128 h + 64 p + j is
// nibble p (0 low) of byte j, and the upper bits of value 128 h + 32 p + j are bits 2 p, 2 p + 1 of byte j.
namespace plait::dtype {

struct BlockQ6_K {
    static constexpr int kElements = 256;
    uint8_t low[kElements / 2];
    uint8_t high[kElements / 4];
    int8_t scales[16];
    uint16_t d;  // F16
};
static_assert(sizeof(BlockQ6_K) == 210);

void decode_q6_k(const void* blocks, float* values, int64_t n);
void tame_q6_k(void* blocks, int64_t n, float deviation);

}  // namespace plait::dtype
