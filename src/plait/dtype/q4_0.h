#pragma once

#include <cstdint>

// Q4_0: 32 nibbles minus 8 under one F16 scale (ggml: block_q4_0).
//
//   byte   0   1     2         3              17
//        +---+---+---------+---------+-- --+---------+
//        |   d   | q16  q0 | q17  q1 | ... | q31 q15 |      value[j] = (q[j] - 8) * d
//        +---+---+---------+---------+-- --+---------+
//                 high low: element j in the low, element j + 16 in the high nibble of byte 2 + j
//
// Encoding: d = x / -8 for the x of largest magnitude (the first of them), so that this value lands on code 0
// whatever its sign; the other end of the range is 7 * d. q = round(x / d) + 8.
namespace plait::dtype {

struct BlockQ4_0 {
    static constexpr int kElements = 32;
    uint16_t d;  // F16
    uint8_t q[kElements / 2];
};
static_assert(sizeof(BlockQ4_0) == 18);

void decode_q4_0(const void* blocks, float* values, int64_t n);
void encode_q4_0(const float* values, void* blocks, int64_t n);

}  // namespace plait::dtype
