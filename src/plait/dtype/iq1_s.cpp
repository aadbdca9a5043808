#include "plait/dtype/iq1_s.h"

#include "plait/dtype/blocks.h"
#include "plait/dtype/codebooks.h"

namespace plait::dtype {
namespace {

void decode_block(const BlockIQ1_S& block, float* values) {
    const float d = f16_to_f32(block.d);
    for (int point = 0; point < 32; ++point) {
        const int word = block.groups[point / 4];
        const int index = block.low[point] | (word >> (point % 4 * 3) & 7) << 8;
        const auto scale = static_cast<float>(2 * (word >> 12 & 7) + 1);
        decode_iq1_entry(kIq1Grid[index], word >> 15 ? -kIq1Shift : kIq1Shift, d * scale, values + 8 * point);
    }
}

}  // namespace

void decode_iq1_s(const void* blocks, float* values, int64_t n) {
    decode_blocks<BlockIQ1_S>(blocks, values, n, decode_block);
}

void tame_iq1_s(void* blocks, int64_t n, float deviation) {
    tame_scale<BlockIQ1_S>(blocks, n, deviation, 7.216f);
}

}  // namespace plait::dtype
