#pragma once

#include <cstdint>

// IQ4_XS: 8 groups of 32 nibbles as in IQ4_NL, each group with a 6-bit scale (ggml: block_iq4_xs).
//
//   byte   0   1   2   3   4        7    8              23
//        +---+---+---+---+------+-+-----+---------+-- --+---------+- - - seven more groups
//        |   d   | upper | s1 s0| |s7 s6| q16  q0 | ... | q31 q15 |   value = kIq4Values[q] * (d * (s - 32))
//        +---+---+---+---+------+-+-----+---------+-- --+---------+- - -
//
// Bits 2 g, 2 g + 1 of `upper` are the upper bits of the scale of group g, the nibbles behind it the lower
// ones.
namespace plait::dtype {

struct BlockIQ4_XS {
    static constexpr int kElements = 256;
    uint16_t d;  // F16
    uint16_t scales_high;
    uint8_t scales_low[4];
    uint8_t q[kElements / 2];
};
static_assert(sizeof(BlockIQ4_XS) == 136);

void decode_iq4_xs(const void* blocks, float* values, int64_t n);
void tame_iq4_xs(void* blocks, int64_t n, float deviation);

}  // namespace plait::dtype
