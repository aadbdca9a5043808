#pragma once

#include <cstdint>

// TQ2_0: 256 two-bit codes minus 1 under one F16 scale (ggml: block_tq2_0). Quantisers write -1, 0 and 1.
//
//   byte   0               63   64  65
//        +-----+-- --+-----+---+---+
//        | codes           |   d   |      value = (q - 1) * d
//        +-----+-- --+-----+---+---+
//
// Codes lie as in Q2_K.
namespace plait::dtype {

struct BlockTQ2_0 {
    static constexpr int kElements = 256;
    uint8_t q[kElements / 4];
    uint16_t d;  // F16
};
static_assert(sizeof(BlockTQ2_0) == 66);

void decode_tq2_0(const void* blocks, float* values, int64_t n);
void tame_tq2_0(void* blocks, int64_t n, float deviation);

}  // namespace plait::dtype
