#pragma once

#include <cstdint>

// Q3_K: 16 groups of 16 three-bit codes, each group with a 6-bit scale (ggml: block_q3_K).
//
//   byte   0        31   32         95   96       107  108 109
//        +-----+- -+-----+-----+- -+-----+-----+- -+-----+---+---+
//        | third bits    | low two bits  | 6-bit scales  |   d   |   value = (q - 4) * (d * (s - 32))
//        +-----+- -+-----+-----+- -+-----+-----+- -+-----+---+---+
//
// The low two bits lie as in Q2_K; the third bit of value 32 b + j is bit b of byte j. Scales: k_scales.h.
namespace plait::dtype {

struct BlockQ3_K {
    static constexpr int kElements = 256;
    uint8_t high[kElements / 8];
    uint8_t low[kElements / 4];
    uint8_t scales[12];
    uint16_t d;  // F16
};
static_assert(sizeof(BlockQ3_K) == 110);

void decode_q3_k(const void* blocks, float* values, int64_t n);
void tame_q3_k(void* blocks, int64_t n, float deviation);

}  // namespace plait::dtype
