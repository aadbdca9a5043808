#pragma once

#include <cstdint>

// IQ2_S: 32 points of 8 values from a grid of 1024, and a 4-bit scale per 16 values (ggml: block_iq2_s).
//
//   byte   0   1   2        33   34       65   66         73   74         81
//        +---+---+-----+- -+-----+-----+- -+-----+------+- -+------+-----+- -+------+
//        |   d   | indices low   | signs         | bits 8, 9       | s1 s0   s15 s14|
//        +---+---+-----+- -+-----+-----+- -+-----+------+- -+------+-----+- -+------+
//
// value = d * (s + 1/2) / 4 * point, negative where its sign bit is set. Bits 2 i, 2 i + 1 of byte 66 + g
// belong to point 4 g + i.
namespace plait::dtype {

struct BlockIQ2_S {
    static constexpr int kElements = 256;
    uint16_t d;  // F16
    uint8_t low[kElements / 8];
    uint8_t signs[kElements / 8];
    uint8_t high[kElements / 32];
    uint8_t scales[kElements / 32];
};
static_assert(sizeof(BlockIQ2_S) == 82);

void decode_iq2_s(const void* blocks, float* values, int64_t n);
void tame_iq2_s(void* blocks, int64_t n, float deviation);

}  // namespace plait::dtype
