#include "plait/dtype/q3_k.h"

#include "plait/dtype/blocks.h"
#include "plait/dtype/k_scales.h"

namespace plait::dtype {
namespace {

void decode_block(const BlockQ3_K& block, float* values) {
    const float d = f16_to_f32(block.d);
    for (int i = 0; i < BlockQ3_K::kElements; ++i) {
        const int code = unpack_2_bits(block.low, i) | (block.high[i % 32] >> (i / 32) & 1) << 2;
        const float scale = d * static_cast<float>(scale_at(block.scales, i / 16) - 32);
        values[i] = static_cast<float>(code - 4) * scale;
    }
}

}  // namespace

void decode_q3_k(const void* blocks, float* values, int64_t n) {
    decode_blocks<BlockQ3_K>(blocks, values, n, decode_block);
}

void tame_q3_k(void* blocks, int64_t n, float deviation) {
    tame_scale<BlockQ3_K>(blocks, n, deviation, 43.34f);
}

}  // namespace plait::dtype
