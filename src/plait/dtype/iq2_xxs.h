#pragma once

#include <cstdint>

// IQ2_XXS: 32 points of 8 values from a grid of 256 in 8 groups (ggml: block_iq2_xxs).
//
//   byte   0   1   2         5   6        9
//        +---+---+----+- -+----+----+- -+----+- - - seven more groups
//        |   d   | 4 indices   | signs, s    |   value = d * (s + 1/2) / 4 * point, with its sign
//        +---+---+----+- -+----+----+- -+----+- - -
//
// The group's second word is that of IQ3_XXS.
namespace plait::dtype {

struct BlockIQ2_XXS {
    static constexpr int kElements = 256;
    struct Group {
        uint8_t q[4];
        uint8_t word[4];
    };
    uint16_t d;  // F16
    Group groups[kElements / 32];
};
static_assert(sizeof(BlockIQ2_XXS) == 66);

void decode_iq2_xxs(const void* blocks, float* values, int64_t n);
void tame_iq2_xxs(void* blocks, int64_t n, float deviation);

}  // namespace plait::dtype
