#pragma once

#include <cstdint>

// NVFP4: four groups of 16 E2M1 numbers, each under an 8-bit float (ggml: block_nvfp4).
//
//   byte   0   1   2   3     4             11
//        +---+---+---+---+---------+-- --+---------+- - - three more groups of 8 bytes
//        | d0| d1| d2| d3| q8   q0 | ... | q15  q7 |      value[16 g + j] = kE2m1Values[q[j]] * d[g] / 2
//        +---+---+---+---+---------+-- --+---------+- - -
//
// d is an E4M3 number without sign: exponent in bits 3 to 6 (bias 7, 0 for subnormals), mantissa in bits 0 to
// 2; 0x7F, NaN elsewhere, is 0 and bit 7 has no meaning, but 0xFF is 480 (ggml: ggml_ue4m3_to_fp32). Files
// may come with another factor per tensor, which is the model's business.
namespace plait::dtype {

struct BlockNVFP4 {
    static constexpr int kElements = 64;
    uint8_t d[4];  // UE4M3
    uint8_t q[kElements / 2];
};
static_assert(sizeof(BlockNVFP4) == 36);

void decode_nvfp4(const void* blocks, float* values, int64_t n);
void tame_nvfp4(void* blocks, int64_t n, float deviation);

}  // namespace plait::dtype
