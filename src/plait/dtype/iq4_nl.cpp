#include "plait/dtype/iq4_nl.h"

#include "plait/dtype/block_math.h"
#include "plait/dtype/blocks.h"
#include "plait/dtype/code_values.h"

namespace plait::dtype {
namespace {

constexpr int kHalf = BlockIQ4_NL::kElements / 2;

// The code of the value nearest to x; of two equally near the even one.
int nearest_code(float wanted) {
    const float x = std::clamp(wanted, -127.0f, 113.0f);
    int best = 0;
    for (int code = 1; code < 16; ++code) {
        const float distance = std::fabs(x - static_cast<float>(kIq4Values[code]));
        const float best_distance = std::fabs(x - static_cast<float>(kIq4Values[best]));
        if (distance < best_distance || (distance == best_distance && code % 2 == 0)) best = code;
    }
    return best;
}

// sum of x * v / sum of v * v over values x and what their codes under `d` stand for.
float least_squares_scale(const float* values, float d) {
    const float inverse = inverse_scale(d);
    double products = 0;
    double squares = 0;
    for (int j = 0; j < BlockIQ4_NL::kElements; ++j) {
        const double x = finite(values[j]);
        const double v = kIq4Values[nearest_code(finite(values[j]) * inverse)];
        products += x * v;
        squares += v * v;
    }
    return static_cast<float>(products / squares);
}

void encode_block(const float* values, BlockIQ4_NL& block) {
    const float first = signed_extreme<BlockIQ4_NL::kElements>(values) / -127.0f;
    const float d = clamp_to_f16(inverse_scale(first) == 0.0f ? 0.0f : least_squares_scale(values, first));
    const float inverse = inverse_scale(d);
    const auto code = [&](int j) { return nearest_code(finite(values[j]) * inverse); };
    block.d = f32_to_f16(d);
    for (int j = 0; j < kHalf; ++j) block.q[j] = static_cast<uint8_t>(code(j) | code(j + kHalf) << 4);
}

}  // namespace

void decode_iq4_nl(const void* blocks, float* values, int64_t n) {
    decode_blocks<BlockIQ4_NL>(blocks, values, n, [](const BlockIQ4_NL& block, float* out) {
        const float d = f16_to_f32(block.d);
        for (int j = 0; j < kHalf; ++j) {
            out[j] = static_cast<float>(kIq4Values[block.q[j] & 15]) * d;
            out[j + kHalf] = static_cast<float>(kIq4Values[block.q[j] >> 4]) * d;
        }
    });
}

void encode_iq4_nl(const float* values, void* blocks, int64_t n) {
    encode_blocks<BlockIQ4_NL>(values, blocks, n, encode_block);
}

}  // namespace plait::dtype
