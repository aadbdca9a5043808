#include "plait/dtype/iq3_xxs.h"

#include "plait/dtype/blocks.h"
#include "plait/dtype/codebooks.h"

namespace plait::dtype {
namespace {

void decode_block(const BlockIQ3_XXS& block, float* values) {
    const float d = f16_to_f32(block.d);
    for (int point = 0; point < 64; ++point) {
        const uint32_t word = read_u32(block.groups[point / 8]);
        const uint32_t signs = signs_of_7_bits(word >> (point / 2 % 4 * 7) & 127u);
        decode_iq3_entry(kIq3XxsGrid[block.q[point]], kIq3XxsMagnitudes, signs >> (point % 2 * 4),
                         d * (static_cast<float>(word >> 28) + 0.5f) * 0.5f, values + 4 * point);
    }
}

}  // namespace

void decode_iq3_xxs(const void* blocks, float* values, int64_t n) {
    decode_blocks<BlockIQ3_XXS>(blocks, values, n, decode_block);
}

void tame_iq3_xxs(void* blocks, int64_t n, float deviation) {
    tame_scale<BlockIQ3_XXS>(blocks, n, deviation, 142.5f);
}

}  // namespace plait::dtype
