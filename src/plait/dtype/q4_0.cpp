#include "plait/dtype/q4_0.h"

#include "plait/dtype/block_math.h"

namespace plait::dtype {
namespace {

constexpr int kHalf = BlockQ4_0::kElements / 2;

void encode_block(const float* values, BlockQ4_0& block) {
    const float d = clamp_to_f16(signed_extreme<BlockQ4_0::kElements>(values) / -8.0f);
    const float inverse = inverse_scale(d);
    const auto code = [&](int j) { return round_to_int(finite(values[j]) * inverse, -8, 7) + 8; };
    block.d = f32_to_f16(d);
    for (int j = 0; j < kHalf; ++j) block.q[j] = static_cast<uint8_t>(code(j) | code(j + kHalf) << 4);
}

}  // namespace

void decode_q4_0(const void* blocks, float* values, int64_t n) {
    const auto* block = static_cast<const BlockQ4_0*>(blocks);
    for (int64_t i = 0; i < n; i += BlockQ4_0::kElements, ++block) {
        const float d = f16_to_f32(block->d);
        for (int j = 0; j < kHalf; ++j) {
            values[i + j] = static_cast<float>((block->q[j] & 15) - 8) * d;
            values[i + j + kHalf] = static_cast<float>((block->q[j] >> 4) - 8) * d;
        }
    }
}

void encode_q4_0(const float* values, void* blocks, int64_t n) {
    auto* block = static_cast<BlockQ4_0*>(blocks);
    for (int64_t i = 0; i < n; i += BlockQ4_0::kElements, ++block) encode_block(values + i, *block);
}

}  // namespace plait::dtype
