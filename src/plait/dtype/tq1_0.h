#pragma once

#include <cstdint>

// TQ1_0: 256 values of -1, 0 and 1 under one F16 scale, five to a byte (ggml: block_tq1_0).
//
//   byte   0                 47   48      51   52  53
//        +-----+-- --- --+-----+----+- -+----+---+---+
//        | 5 values a byte     | 4 values    |   d   |   value = (digit - 1) * d
//        +-----+-- --- --+-----+----+- -+----+---+---+
//
// A byte is a fraction of 256; its digits in base 3 come out from the top: digit n is (byte * 3^n mod 256) *
// 3 / 256. Digit n of bytes 0 to 31 are values 32 n .., of bytes 32 to 47 values 160 + 16 n .., of bytes 48
// to 51 values 240 + 4 n ...
namespace plait::dtype {

struct BlockTQ1_0 {
    static constexpr int kElements = 256;
    uint8_t q[48];
    uint8_t last[4];
    uint16_t d;  // F16
};
static_assert(sizeof(BlockTQ1_0) == 54);

void decode_tq1_0(const void* blocks, float* values, int64_t n);
void tame_tq1_0(void* blocks, int64_t n, float deviation);

}  // namespace plait::dtype
