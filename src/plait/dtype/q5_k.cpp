#include "plait/dtype/q5_k.h"

#include "plait/dtype/blocks.h"
#include "plait/dtype/k_scales.h"

namespace plait::dtype {
namespace {

void decode_block(const BlockQ5_K& block, float* values) {
    const float d = f16_to_f32(block.d);
    const float dmin = f16_to_f32(block.dmin);
    for (int group = 0; group < 8; ++group) {
        const ScaleMin scale_min = scale_min_at(block.scales, group);
        const float scale = d * static_cast<float>(scale_min.scale);
        const float min = dmin * static_cast<float>(scale_min.min);
        for (int j = 0; j < 32; ++j) {
            const int low = block.low[group / 2 * 32 + j] >> (group % 2 * 4) & 15;
            const int code = low | (block.high[j] >> group & 1) << 4;
            values[group * 32 + j] = static_cast<float>(code) * scale - min;
        }
    }
}

}  // namespace

void decode_q5_k(const void* blocks, float* values, int64_t n) {
    decode_blocks<BlockQ5_K>(blocks, values, n, decode_block);
}

void tame_q5_k(void* blocks, int64_t n, float deviation) {
    tame_scale_and_min<BlockQ5_K>(blocks, n, deviation, 526.9f, 15.5f);
}

}  // namespace plait::dtype
