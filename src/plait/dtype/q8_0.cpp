#include "plait/dtype/q8_0.h"

#include "plait/dtype/block_math.h"

namespace plait::dtype {
namespace {

void encode_block(const float* values, BlockQ8_0& block) {
    float amax = 0.0f;
    for (int j = 0; j < BlockQ8_0::kElements; ++j) amax = std::max(amax, std::fabs(finite(values[j])));
    const float d = clamp_to_f16(amax / 127.0f);
    const float inverse = inverse_scale(d);
    block.d = f32_to_f16(d);
    for (int j = 0; j < BlockQ8_0::kElements; ++j)
        block.q[j] = static_cast<int8_t>(round_to_int(finite(values[j]) * inverse, -127, 127));
}

}  // namespace

void decode_q8_0(const void* blocks, float* values, int64_t n) {
    const auto* block = static_cast<const BlockQ8_0*>(blocks);
    for (int64_t i = 0; i < n; i += BlockQ8_0::kElements, ++block) {
        const float d = f16_to_f32(block->d);
        for (int j = 0; j < BlockQ8_0::kElements; ++j) values[i + j] = static_cast<float>(block->q[j]) * d;
    }
}

void encode_q8_0(const float* values, void* blocks, int64_t n) {
    auto* block = static_cast<BlockQ8_0*>(blocks);
    for (int64_t i = 0; i < n; i += BlockQ8_0::kElements, ++block) encode_block(values + i, *block);
}

}  // namespace plait::dtype
