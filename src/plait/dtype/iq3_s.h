#pragma once

#include <cstdint>

// IQ3_S: 64 points of 4 values from a grid of 512, with signs, in 8 groups with a 4-bit scale (ggml:
// block_iq3_s).
//
//   byte   0   1   2        65   66         73   74       105  106      109
//        +---+---+-----+- -+-----+------+- -+------+----+- -+----+-----+- -+-----+
//        |   d   | indices low   | bits 8   | signs          | s1 s0   s7 s6    |
//        +---+---+-----+- -+-----+------+- -+------+----+- -+----+-----+- -+-----+
//
// value = d * (1 + 2 s) * point, negative where its sign bit is set. Point i of group g is index byte 8 g + i
// with bit i of byte 66 + g above it; sign bits go value by value, lowest first.
namespace plait::dtype {

struct BlockIQ3_S {
    static constexpr int kElements = 256;
    uint16_t d;  // F16
    uint8_t low[kElements / 4];
    uint8_t high[kElements / 32];
    uint8_t signs[kElements / 8];
    uint8_t scales[kElements / 64];
};
static_assert(sizeof(BlockIQ3_S) == 110);

void decode_iq3_s(const void* blocks, float* values, int64_t n);
void tame_iq3_s(void* blocks, int64_t n, float deviation);

}  // namespace plait::dtype
