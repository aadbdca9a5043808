#pragma once

#include <cstdint>

// MXFP4: 32 E2M1 numbers under one power of two (OCP Microscaling Formats 1.0; ggml: block_mxfp4).
//
//   byte   0      1              16
//        +---+---------+-- --+---------+
//        | e | q16  q0 | ... | q31 q15 |      value[j] = kE2m1Values[q[j]] * 2^(e - 128)
//        +---+---------+-- --+---------+
//
// The specification reserves e = 255 for NaN; ggml gives it 2^127, and so do we.
namespace plait::dtype {

struct BlockMXFP4 {
    static constexpr int kElements = 32;
    uint8_t e;  // E8M0
    uint8_t q[kElements / 2];
};
static_assert(sizeof(BlockMXFP4) == 17);

void decode_mxfp4(const void* blocks, float* values, int64_t n);
void tame_mxfp4(void* blocks, int64_t n, float deviation);

}  // namespace plait::dtype
