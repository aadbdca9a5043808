#include "plait/dtype/q5_1.h"

#include "plait/dtype/block_math.h"
#include "plait/dtype/blocks.h"

namespace plait::dtype {
namespace {

void encode_block(const float* values, BlockQ5_1& block) {
    const Range range = range_of<BlockQ5_1::kElements>(values);
    const float m = clamp_to_f16(range.min);
    const float d = clamp_to_f16((range.max - m) / 31.0f);
    const float inverse = inverse_scale(d);
    block.d = f32_to_f16(d);
    block.m = f32_to_f16(m);
    pack_5_bits(block.low, block.high,
                [&](int j) { return round_to_int((finite(values[j]) - m) * inverse, 0, 31); });
}

}  // namespace

void decode_q5_1(const void* blocks, float* values, int64_t n) {
    decode_blocks<BlockQ5_1>(blocks, values, n, [](const BlockQ5_1& block, float* out) {
        const float d = f16_to_f32(block.d);
        const float m = f16_to_f32(block.m);
        for (int j = 0; j < BlockQ5_1::kElements; ++j)
            out[j] = static_cast<float>(unpack_5_bits(block.low, block.high, j)) * d + m;
    });
}

void encode_q5_1(const float* values, void* blocks, int64_t n) {
    encode_blocks<BlockQ5_1>(values, blocks, n, encode_block);
}

}  // namespace plait::dtype
