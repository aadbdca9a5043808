#pragma once

#include <cstdint>

// Q8_0: 32 signed bytes under one F16 scale (ggml: block_q8_0).
//
//   byte   0   1   2   3          33
//        +---+---+---+---+-- --+----+
//        |   d   | q0| q1| ... | q31|      value[j] = q[j] * d
//        +---+---+---+---+-- --+----+
//
// Encoding: d = amax / 127, q = round(x / d), so q is never -128; a decoder must still accept it.
namespace plait::dtype {

struct BlockQ8_0 {
    static constexpr int kElements = 32;
    uint16_t d;  // F16
    int8_t q[kElements];
};
static_assert(sizeof(BlockQ8_0) == 34);

void decode_q8_0(const void* blocks, float* values, int64_t n);
void encode_q8_0(const float* values, void* blocks, int64_t n);

}  // namespace plait::dtype
