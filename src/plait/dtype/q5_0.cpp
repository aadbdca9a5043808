#include "plait/dtype/q5_0.h"

#include "plait/dtype/block_math.h"
#include "plait/dtype/blocks.h"

namespace plait::dtype {
namespace {

void encode_block(const float* values, BlockQ5_0& block) {
    const float d = clamp_to_f16(signed_extreme<BlockQ5_0::kElements>(values) / -16.0f);
    const float inverse = inverse_scale(d);
    block.d = f32_to_f16(d);
    pack_5_bits(block.low, block.high,
                [&](int j) { return round_to_int(finite(values[j]) * inverse, -16, 15) + 16; });
}

}  // namespace

void decode_q5_0(const void* blocks, float* values, int64_t n) {
    decode_blocks<BlockQ5_0>(blocks, values, n, [](const BlockQ5_0& block, float* out) {
        const float d = f16_to_f32(block.d);
        for (int j = 0; j < BlockQ5_0::kElements; ++j)
            out[j] = static_cast<float>(unpack_5_bits(block.low, block.high, j) - 16) * d;
    });
}

void encode_q5_0(const float* values, void* blocks, int64_t n) {
    encode_blocks<BlockQ5_0>(values, blocks, n, encode_block);
}

}  // namespace plait::dtype
