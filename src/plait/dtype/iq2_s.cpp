#include "plait/dtype/iq2_s.h"

#include "plait/dtype/blocks.h"
#include "plait/dtype/codebooks.h"

namespace plait::dtype {
namespace {

void decode_block(const BlockIQ2_S& block, float* values) {
    const float d = f16_to_f32(block.d);
    for (int point = 0; point < 32; ++point) {
        const int index = block.low[point] | (block.high[point / 4] >> (point % 4 * 2) & 3) << 8;
        const int scale = block.scales[point / 4] >> (point / 2 % 2 * 4) & 15;
        decode_iq2_entry(kIq2SGrid[index], block.signs[point], d * (static_cast<float>(scale) + 0.5f) * 0.25f,
                         values + 8 * point);
    }
}

}  // namespace

void decode_iq2_s(const void* blocks, float* values, int64_t n) {
    decode_blocks<BlockIQ2_S>(blocks, values, n, decode_block);
}

void tame_iq2_s(void* blocks, int64_t n, float deviation) {
    tame_scale<BlockIQ2_S>(blocks, n, deviation, 56.55f);
}

}  // namespace plait::dtype
