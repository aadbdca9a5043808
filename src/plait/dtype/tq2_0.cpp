#include "plait/dtype/tq2_0.h"

#include "plait/dtype/blocks.h"

namespace plait::dtype {
namespace {

void decode_block(const BlockTQ2_0& block, float* values) {
    const float d = f16_to_f32(block.d);
    for (int i = 0; i < BlockTQ2_0::kElements; ++i)
        values[i] = static_cast<float>(unpack_2_bits(block.q, i) - 1) * d;
}

}  // namespace

void decode_tq2_0(const void* blocks, float* values, int64_t n) {
    decode_blocks<BlockTQ2_0>(blocks, values, n, decode_block);
}

// A code of 3, which quantisers do not write, becomes 1.
void tame_tq2_0(void* blocks, int64_t n, float deviation) {
    const uint16_t d = f32_to_f16(deviation / 0.7071f);
    change_blocks<BlockTQ2_0>(blocks, n, [&](BlockTQ2_0& block) {
        block.d = d;
        for (uint8_t& codes : block.q) codes &= static_cast<uint8_t>(~((codes & codes >> 1 & 0x55) << 1));
    });
}

}  // namespace plait::dtype
