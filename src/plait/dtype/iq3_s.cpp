#include "plait/dtype/iq3_s.h"

#include "plait/dtype/blocks.h"
#include "plait/dtype/codebooks.h"

namespace plait::dtype {
namespace {

void decode_block(const BlockIQ3_S& block, float* values) {
    const float d = f16_to_f32(block.d);
    for (int point = 0; point < 64; ++point) {
        const int group = point / 8;
        const int index = block.low[point] | (block.high[group] >> (point % 8) & 1) << 8;
        const int scale = block.scales[group / 2] >> (group % 2 * 4) & 15;
        decode_iq3_entry(kIq3SGrid[index], kIq3SMagnitudes, block.signs[point / 2] >> (point % 2 * 4),
                         d * static_cast<float>(1 + 2 * scale), values + 4 * point);
    }
}

}  // namespace

void decode_iq3_s(const void* blocks, float* values, int64_t n) {
    decode_blocks<BlockIQ3_S>(blocks, values, n, decode_block);
}

void tame_iq3_s(void* blocks, int64_t n, float deviation) {
    tame_scale<BlockIQ3_S>(blocks, n, deviation, 140.5f);
}

}  // namespace plait::dtype
