#pragma once

#include <cstdint>

// IQ4_NL: 32 nibbles that point into 16 unevenly spaced values, under one F16 scale (ggml: block_iq4_nl).
//
//   byte   0   1     2              17
//        +---+---+---------+-- --+---------+
//        |   d   | q16  q0 | ... | q31 q15 |      value[j] = kIq4Values[q[j]] * d
//        +---+---+---------+-- --+---------+
//
// Encoding: d = x / -127 for the x of largest magnitude; then the d that is best, in the least squares, for
// the codes nearest under the former; then the nearest codes under that.
namespace plait::dtype {

struct BlockIQ4_NL {
    static constexpr int kElements = 32;
    uint16_t d;  // F16
    uint8_t q[kElements / 2];
};
static_assert(sizeof(BlockIQ4_NL) == 18);

void decode_iq4_nl(const void* blocks, float* values, int64_t n);
void encode_iq4_nl(const float* values, void* blocks, int64_t n);

}  // namespace plait::dtype
