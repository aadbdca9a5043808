#include "plait/dtype/tq1_0.h"

#include "plait/dtype/blocks.h"

namespace plait::dtype {
namespace {

constexpr int kPowersOf3[] = {1, 3, 9, 27, 81};

// -1, 0 or 1
float digit_of(uint8_t byte, int digit) {
    const int rest = byte * kPowersOf3[digit] & 255;
    return static_cast<float>((rest * 3 >> 8) - 1);
}

void decode_block(const BlockTQ1_0& block, float* values) {
    const float d = f16_to_f32(block.d);
    for (int digit = 0; digit < 5; ++digit) {
        for (int j = 0; j < 32; ++j) values[32 * digit + j] = digit_of(block.q[j], digit) * d;
        for (int j = 0; j < 16; ++j) values[160 + 16 * digit + j] = digit_of(block.q[32 + j], digit) * d;
    }
    for (int digit = 0; digit < 4; ++digit)
        for (int j = 0; j < 4; ++j) values[240 + 4 * digit + j] = digit_of(block.last[j], digit) * d;
}

}  // namespace

void decode_tq1_0(const void* blocks, float* values, int64_t n) {
    decode_blocks<BlockTQ1_0>(blocks, values, n, decode_block);
}

void tame_tq1_0(void* blocks, int64_t n, float deviation) {
    tame_scale<BlockTQ1_0>(blocks, n, deviation, 0.8176f);
}

}  // namespace plait::dtype
