#pragma once

#include <cstdint>

// IQ1_M: as IQ1_S, with a shift per point and a 3-bit scale per 16 values (ggml: block_iq1_m).
//
//   byte   0        31   32         47   48       55
//        +-----+- -+-----+------+- -+------+----+- -+----+
//        | indices low   | p1 p0     p31 p30 | 4 words    |   value = d * (2 s + 1) * (point +- 1/8)
//        +-----+- -+-----+------+- -+------+----+- -+----+
//
// p: bits 0 to 2 above the index byte of its point, bit 3 set for - 1/8. Words are 16 bits: four times 3 bits
// of scale, and in bits 12 to 15 a quarter of the F16 number d, the lowest first.
namespace plait::dtype {

struct BlockIQ1_M {
    static constexpr int kElements = 256;
    uint8_t low[kElements / 8];
    uint8_t high[kElements / 16];
    uint8_t words[4][2];
};
static_assert(sizeof(BlockIQ1_M) == 56);

void decode_iq1_m(const void* blocks, float* values, int64_t n);
void tame_iq1_m(void* blocks, int64_t n, float deviation);

}  // namespace plait::dtype
