#pragma once

#include <cstdint>

// IQ1_S: 32 points of 8 values of -1, 0 and 1 from a grid of 2048 in 8 groups (ggml: block_iq1_s).
//
//   byte   0   1   2        33   34  35      48  49
//        +---+---+-----+- -+-----+---+---+- -+---+---+
//        |   d   | indices low   | group |   | group |   value = d * (2 s + 1) * (point +- 1/8)
//        +---+---+-----+- -+-----+---+---+- -+---+---+
//
// A group's 16-bit word: four times 3 bits above the index bytes of its points, bits 12 to 14 the scale s,
// bit 15 set for - 1/8.
namespace plait::dtype {

struct BlockIQ1_S {
    static constexpr int kElements = 256;
    uint16_t d;  // F16
    uint8_t low[kElements / 8];
    uint16_t groups[kElements / 32];
};
static_assert(sizeof(BlockIQ1_S) == 50);

void decode_iq1_s(const void* blocks, float* values, int64_t n);
void tame_iq1_s(void* blocks, int64_t n, float deviation);

}  // namespace plait::dtype
