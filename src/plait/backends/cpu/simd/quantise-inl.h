#pragma once

#include "plait/backends/cpu/simd/kernel_table.h"

namespace plait::backends::cpu::simd {
namespace {

constexpr int32_t kInfinityBits = 0x7F800000;
constexpr float kMinNormal = 0x1.0p-126f;

// Magnitudes are compared as integers: the bit patterns of floats without sign order like the floats, and
// infinities and NaN come last.
template <class O>
int32_t largest_magnitude_bits(const typename O::F (&x)[4]) {
    const typename O::I mask = O::set_i(0x7FFFFFFF);
    const auto magnitude = [&](int part) { return O::and_i(O::bits(x[part]), mask); };
    return O::hmax_i(O::max_i(O::max_i(magnitude(0), magnitude(1)), O::max_i(magnitude(2), magnitude(3))));
}

inline float float_of_bits(int32_t bits) {
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

// The sums of the first and of the second half, whole numbers.
inline void set_sums(ActBlock& block, int32_t first, int32_t second) {
    block.sum = static_cast<float>(first + second);
    block.half_sums[0] = static_cast<float>(first);
    block.half_sums[1] = static_cast<float>(second);
    block.start = -kCodeBias * (first + second);
    block.half_starts[0] = -kCodeBias * first;
    block.half_starts[1] = -kCodeBias * second;
}

inline void set_constant(ActBlock& block, float d) {
    block.d = d;
    set_sums(block, 0, 0);
    for (int8_t& q : block.q) q = 0;
}

// Of a block's 32 numbers the squares add up to less than this where the largest, 127, is more than sqrt(22)
// times their root mean square.
constexpr float kRefinedBelow = 32 * 127.0f * 127.0f / 22;

// Values of one block, in vectors.
template <class O>
struct BlockValues {
    typename O::F x[4];
};

// Quantises the values, leaves in them what rounding lost, and returns the sum of the numbers' squares, or 0
// for a constant block. Integers below 2^24 are exact in floats, so the sum does not depend on its order.
template <class O>
[[gnu::always_inline]] inline float quantise_block(BlockValues<O>& values, ActBlock& block) {
    auto& x = values.x;
    const int32_t bits = largest_magnitude_bits<O>(x);
    if (bits >= kInfinityBits) return set_constant(block, __builtin_nanf("")), 0.0f;
    const float d = float_of_bits(bits) / 127.0f;
    if (d < kMinNormal) return set_constant(block, 0.0f), 0.0f;
    const typename O::F inverse = O::set(1.0f / d);
    const auto rounded = [&](int part) { return O::round_i(O::mul(x[part], inverse)); };
    const typename O::I q[4] = {rounded(0), rounded(1), rounded(2), rounded(3)};
    block.d = d;
    set_sums(block, O::hsum_i(O::add_i(q[0], q[1])), O::hsum_i(O::add_i(q[2], q[3])));
    O::store_i8(block.q, q[0], q[1], q[2], q[3]);
    typename O::F squares = O::zero();
#pragma GCC unroll 4
    for (int part = 0; part < 4; ++part) {
        const typename O::F number = O::to_f(q[part]);
        squares = O::add(squares, O::mul(number, number));
        x[part] = O::sub(x[part], O::mul(number, O::set(d)));
    }
    return O::hsum(squares);
}

template <class O>
void quantise(const float* x, const ActBlocks& out, int64_t k) {
    for (int64_t i = 0; i < k / 32; ++i) {
        const float* at = x + 32 * i;
        BlockValues<O> values{{O::load(at), O::load(at + 8), O::load(at + 16), O::load(at + 24)}};
        const float squares = quantise_block<O>(values, out.blocks[i]);
        out.refined[i] = squares > 0 && squares < kRefinedBelow;
        if (out.refined[i]) quantise_block<O>(values, out.residuals[i]);
    }
}

}  // namespace
}  // namespace plait::backends::cpu::simd
