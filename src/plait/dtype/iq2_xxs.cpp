#include "plait/dtype/iq2_xxs.h"

#include "plait/dtype/blocks.h"
#include "plait/dtype/codebooks.h"

namespace plait::dtype {
namespace {

void decode_block(const BlockIQ2_XXS& block, float* values) {
    const float d = f16_to_f32(block.d);
    for (int point = 0; point < 32; ++point) {
        const BlockIQ2_XXS::Group& group = block.groups[point / 4];
        const uint32_t word = read_u32(group.word);
        const uint32_t signs = signs_of_7_bits(word >> (point % 4 * 7) & 127u);
        decode_iq2_entry(kIq2XxsGrid[group.q[point % 4]], signs,
                         d * (static_cast<float>(word >> 28) + 0.5f) * 0.25f, values + 8 * point);
    }
}

}  // namespace

void decode_iq2_xxs(const void* blocks, float* values, int64_t n) {
    decode_blocks<BlockIQ2_XXS>(blocks, values, n, decode_block);
}

void tame_iq2_xxs(void* blocks, int64_t n, float deviation) {
    tame_scale<BlockIQ2_XXS>(blocks, n, deviation, 53.28f);
}

}  // namespace plait::dtype
