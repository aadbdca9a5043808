#include "plait/dtype/q4_1.h"

#include "plait/dtype/block_math.h"

namespace plait::dtype {
namespace {

constexpr int kHalf = BlockQ4_1::kElements / 2;

void encode_block(const float* values, BlockQ4_1& block) {
    const Range range = range_of<BlockQ4_1::kElements>(values);
    const float m = clamp_to_f16(range.min);
    const float d = clamp_to_f16((range.max - m) / 15.0f);
    const float inverse = inverse_scale(d);
    const auto code = [&](int j) { return round_to_int((finite(values[j]) - m) * inverse, 0, 15); };
    block.d = f32_to_f16(d);
    block.m = f32_to_f16(m);
    for (int j = 0; j < kHalf; ++j) block.q[j] = static_cast<uint8_t>(code(j) | code(j + kHalf) << 4);
}

}  // namespace

void decode_q4_1(const void* blocks, float* values, int64_t n) {
    const auto* block = static_cast<const BlockQ4_1*>(blocks);
    for (int64_t i = 0; i < n; i += BlockQ4_1::kElements, ++block) {
        const float d = f16_to_f32(block->d);
        const float m = f16_to_f32(block->m);
        for (int j = 0; j < kHalf; ++j) {
            values[i + j] = static_cast<float>(block->q[j] & 15) * d + m;
            values[i + j + kHalf] = static_cast<float>(block->q[j] >> 4) * d + m;
        }
    }
}

void encode_q4_1(const float* values, void* blocks, int64_t n) {
    auto* block = static_cast<BlockQ4_1*>(blocks);
    for (int64_t i = 0; i < n; i += BlockQ4_1::kElements, ++block) encode_block(values + i, *block);
}

}  // namespace plait::dtype
