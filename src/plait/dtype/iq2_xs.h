#pragma once

#include <cstdint>

// IQ2_XS: 32 points of 8 values from a grid of 512, and a 4-bit scale per 16 values (ggml: block_iq2_xs).
//
//   byte   0   1   2   3       64  65   66       73
//        +---+---+---+---+- -+---+---+-----+- -+-----+
//        |   d   | point |   | point | s1 s0  s15 s14|   value = d * (s + 1/2) / 4 * point, with its sign
//        +---+---+---+---+- -+---+---+-----+- -+-----+
//
// A point: bits 0 to 8 its index, bits 9 to 15 the signs (codebooks.h, signs_of_7_bits).
namespace plait::dtype {

struct BlockIQ2_XS {
    static constexpr int kElements = 256;
    uint16_t d;  // F16
    uint16_t q[kElements / 8];
    uint8_t scales[kElements / 32];
};
static_assert(sizeof(BlockIQ2_XS) == 74);

void decode_iq2_xs(const void* blocks, float* values, int64_t n);
void tame_iq2_xs(void* blocks, int64_t n, float deviation);

}  // namespace plait::dtype
