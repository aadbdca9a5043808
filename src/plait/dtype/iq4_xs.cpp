#include "plait/dtype/iq4_xs.h"

#include "plait/dtype/blocks.h"
#include "plait/dtype/code_values.h"

namespace plait::dtype {
namespace {

void decode_block(const BlockIQ4_XS& block, float* values) {
    const float d = f16_to_f32(block.d);
    for (int group = 0; group < 8; ++group) {
        const int low = block.scales_low[group / 2] >> (group % 2 * 4) & 15;
        const int high = block.scales_high >> (2 * group) & 3;
        const float scale = d * static_cast<float>((low | high << 4) - 32);
        for (int j = 0; j < 16; ++j) {
            const int byte = block.q[group * 16 + j];
            values[group * 32 + j] = static_cast<float>(kIq4Values[byte & 15]) * scale;
            values[group * 32 + j + 16] = static_cast<float>(kIq4Values[byte >> 4]) * scale;
        }
    }
}

}  // namespace

void decode_iq4_xs(const void* blocks, float* values, int64_t n) {
    decode_blocks<BlockIQ4_XS>(blocks, values, n, decode_block);
}

void tame_iq4_xs(void* blocks, int64_t n, float deviation) {
    tame_scale<BlockIQ4_XS>(blocks, n, deviation, 1246.0f);
}

}  // namespace plait::dtype
