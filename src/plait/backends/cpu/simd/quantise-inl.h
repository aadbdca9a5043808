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

inline void set_constant(ActBlock& block, float d) {
    block.d = d;
    block.sum = 0;
    for (int8_t& q : block.q) q = 0;
}

template <class O>
void quantise_block(const float* values, ActBlock& block) {
    const typename O::F x[4] = {O::load(values), O::load(values + 8), O::load(values + 16),
                                O::load(values + 24)};
    const int32_t bits = largest_magnitude_bits<O>(x);
    if (bits >= kInfinityBits) return set_constant(block, __builtin_nanf(""));
    const float d = float_of_bits(bits) / 127.0f;
    if (d < kMinNormal) return set_constant(block, 0.0f);
    const typename O::F inverse = O::set(1.0f / d);
    const auto rounded = [&](int part) { return O::round_i(O::mul(x[part], inverse)); };
    const typename O::I q[4] = {rounded(0), rounded(1), rounded(2), rounded(3)};
    block.d = d;
    block.sum = O::hsum_i(O::add_i(O::add_i(q[0], q[1]), O::add_i(q[2], q[3])));
    O::store_i8(block.q, q[0], q[1], q[2], q[3]);
}

template <class O>
void quantise(const float* x, ActBlock* out, int64_t k) {
    for (int64_t i = 0; i < k; i += 32) quantise_block<O>(x + i, out[i / 32]);
}

}  // namespace
}  // namespace plait::backends::cpu::simd
