#include "plait/dtype/iq2_xs.h"

#include "plait/dtype/blocks.h"
#include "plait/dtype/codebooks.h"

namespace plait::dtype {
namespace {

void decode_block(const BlockIQ2_XS& block, float* values) {
    const float d = f16_to_f32(block.d);
    for (int point = 0; point < 32; ++point) {
        const uint32_t q = block.q[point];
        const int scale = block.scales[point / 4] >> (point / 2 % 2 * 4) & 15;
        decode_iq2_entry(kIq2XsGrid[q & 511u], signs_of_7_bits(q >> 9),
                         d * (static_cast<float>(scale) + 0.5f) * 0.25f, values + 8 * point);
    }
}

}  // namespace

void decode_iq2_xs(const void* blocks, float* values, int64_t n) {
    decode_blocks<BlockIQ2_XS>(blocks, values, n, decode_block);
}

void tame_iq2_xs(void* blocks, int64_t n, float deviation) {
    tame_scale<BlockIQ2_XS>(blocks, n, deviation, 55.71f);
}

}  // namespace plait::dtype
