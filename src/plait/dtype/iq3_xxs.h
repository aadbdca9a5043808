#pragma once

#include <cstdint>

// IQ3_XXS: 64 points of 4 values from a grid of 256 in 8 groups (ggml: block_iq3_xxs).
//
//   byte   0   1   2        65   66      69        94      97
//        +---+---+-----+- -+-----+----+- -+----+- -+----+- -+----+
//        |   d   | indices       | group 0   |     | group 7     |
//        +---+---+-----+- -+-----+----+- -+----+- -+----+- -+----+
//
// value = d * (s + 1/2) / 2 * point, with its sign.
//
// A group's 32-bit word: bits 28 to 31 the scale s, below them four times 7 bits for the signs of 8 values
// (codebooks.h, signs_of_7_bits).
namespace plait::dtype {

struct BlockIQ3_XXS {
    static constexpr int kElements = 256;
    uint16_t d;  // F16
    uint8_t q[kElements / 4];
    uint8_t groups[kElements / 32][4];
};
static_assert(sizeof(BlockIQ3_XXS) == 98);

void decode_iq3_xxs(const void* blocks, float* values, int64_t n);
void tame_iq3_xxs(void* blocks, int64_t n, float deviation);

}  // namespace plait::dtype
