#pragma once

#include "plait/backends/cpu/simd/exp-inl.h"
#include "plait/backends/cpu/simd/kernel_table.h"
#include "plait/backends/cpu/simd/partial-inl.h"

// Kernels over rows of floats: elementwise ones, reductions in an order fixed by n, and norms made of both.
// The end of a row goes through the same vector code, padded.
namespace plait::backends::cpu::simd {
namespace {

template <class O, class Fn>
void map(const float* x, float* out, int64_t n, const Fn& fn) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) O::store(out + i, fn(O::load(x + i)));
    if (i < n) store_partial<O>(out + i, n - i, fn(load_partial<O>(x + i, n - i)));
}

template <class O, class Fn>
void map2(const float* a, const float* b, float* out, int64_t n, const Fn& fn) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) O::store(out + i, fn(O::load(a + i), O::load(b + i)));
    if (i < n)
        store_partial<O>(out + i, n - i, fn(load_partial<O>(a + i, n - i), load_partial<O>(b + i, n - i)));
}

// sum of fn(x[i]): 4 vectors of partial sums take turns. `neutral` is an element for which fn gives 0.
template <class O, class Fn>
float sum_of(const float* x, int64_t n, float neutral, const Fn& fn) {
    typename O::F sum[4] = {O::zero(), O::zero(), O::zero(), O::zero()};
    int64_t i = 0;
    for (; i + 32 <= n; i += 32) {
#pragma GCC unroll 4
        for (int part = 0; part < 4; ++part) sum[part] = O::add(sum[part], fn(O::load(x + i + 8 * part)));
    }
    for (int part = 0; i < n; ++part, i += 8) {
        const int64_t left = n - i < 8 ? n - i : 8;
        sum[part] = O::add(sum[part], fn(load_partial<O>(x + i, left, neutral)));
    }
    return O::hsum(O::add(O::add(sum[0], sum[1]), O::add(sum[2], sum[3])));
}

template <class O>
void add(const float* a, const float* b, float* out, int64_t n) {
    map2<O>(a, b, out, n, [](typename O::F u, typename O::F v) { return O::add(u, v); });
}

// O::min gives its second operand where either is NaN and where both are zeros. Asked both ways round, the
// bits of both answers together are a NaN for a NaN, and -0 for zeros of both signs.
template <class O>
typename O::F smaller(typename O::F a, typename O::F b) {
    return O::from_bits(O::or_i(O::bits(O::min(a, b)), O::bits(O::min(b, a))));
}

template <class O>
void smaller_row(const float* a, const float* b, float* out, int64_t n) {
    map2<O>(a, b, out, n, [](typename O::F u, typename O::F v) { return smaller<O>(u, v); });
}

template <class O>
void larger_row(const float* a, const float* b, float* out, int64_t n) {
    using F = typename O::F;
    // By its bit: a product with -1 may or may not change a NaN's sign.
    const auto minus = [](F v) { return O::from_bits(O::xor_i(O::bits(v), O::set_i(INT32_MIN))); };
    map2<O>(a, b, out, n, [&](F u, F v) { return minus(smaller<O>(minus(u), minus(v))); });
}

template <class O>
void silu_row(const float* x, float* out, int64_t n) {
    map<O>(x, out, n, [](typename O::F v) { return silu<O>(v); });
}

template <class O>
void gelu_tanh_row(const float* x, float* out, int64_t n) {
    map<O>(x, out, n, [](typename O::F v) { return gelu_tanh<O>(v); });
}

template <class O>
void gelu_erf_row(const float* x, float* out, int64_t n) {
    map<O>(x, out, n, [](typename O::F v) { return gelu_erf<O>(v); });
}

template <class O>
void sigmoid_row(const float* x, float* out, int64_t n) {
    map<O>(x, out, n, [](typename O::F v) { return sigmoid<O>(v); });
}

template <class O>
void silu_mul(const float* gate, const float* up, float* out, int64_t n) {
    map2<O>(gate, up, out, n, [](typename O::F g, typename O::F u) { return O::mul(silu<O>(g), u); });
}

template <class O>
void gelu_tanh_mul(const float* gate, const float* up, float* out, int64_t n) {
    map2<O>(gate, up, out, n, [](typename O::F g, typename O::F u) { return O::mul(gelu_tanh<O>(g), u); });
}

// O::min and O::max give their second operand for a NaN, so that one survives.
template <class O>
void clamped_swiglu(const float* gate, const float* up, float* out, int64_t n, float limit, float alpha) {
    using F = typename O::F;
    const F one = O::set(1.0f);
    map2<O>(gate, up, out, n, [&](F g, F u) {
        g = O::min(O::set(limit), g);
        u = O::max(O::set(-limit), O::min(O::set(limit), u));
        const F e = exp<O>(O::mul(O::set(-alpha), g));
        return O::mul(O::div(g, O::add(one, e)), O::add(u, one));
    });
}

template <class O>
void gelu_erf_mul(const float* gate, const float* up, float* out, int64_t n) {
    map2<O>(gate, up, out, n, [](typename O::F g, typename O::F u) { return O::mul(gelu_erf<O>(g), u); });
}

template <class O>
void sigmoid_mul(const float* gate, const float* up, float* out, int64_t n) {
    map2<O>(gate, up, out, n, [](typename O::F g, typename O::F u) { return O::mul(sigmoid<O>(g), u); });
}

template <class O>
void clamp(const float* x, float* out, int64_t n, float limit) {
    const typename O::F high = O::set(limit), low = O::set(-limit);
    map<O>(x, out, n, [&](typename O::F v) { return O::max(low, O::min(high, v)); });
}

template <class O>
void scale(const float* x, float* out, int64_t n, float factor) {
    map<O>(x, out, n, [&](typename O::F v) { return O::mul(v, O::set(factor)); });
}

template <class O>
void soft_cap_row(const float* x, float* out, int64_t n, float cap) {
    map<O>(x, out, n, [&](typename O::F v) { return soft_cap<O>(v, cap); });
}

constexpr float kCounted[8] = {0, 1, 2, 3, 4, 5, 6, 7};

template <class O>
void add_ramp(float* x, int64_t n, float start, float slope) {
    const auto add = [&](typename O::F v, int64_t i) {
        const typename O::F place = O::add(O::set(start + static_cast<float>(i)), O::load(kCounted));
        return O::fma(O::set(slope), place, v);
    };
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) O::store(x + i, add(O::load(x + i), i));
    if (i < n) store_partial<O>(x + i, n - i, add(load_partial<O>(x + i, n - i), i));
}

constexpr float kMinusInfinity = -__builtin_inff();

template <class O>
float max(const float* x, int64_t n) {
    typename O::F largest =
        O::set(kMinusInfinity);  // never NaN, as O::max gives its second operand for a NaN
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) largest = O::max(O::load(x + i), largest);
    if (i < n) largest = O::max(load_partial<O>(x + i, n - i, kMinusInfinity), largest);
    return O::hmax(largest);
}

template <class O>
float exp_sum(float* x, int64_t n, float shift) {
    const typename O::F base = O::set(shift == kMinusInfinity ? 0.0f : shift);
    typename O::F sum = O::zero();
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const typename O::F e = exp<O>(O::sub(O::load(x + i), base));
        O::store(x + i, e);
        sum = O::add(sum, e);
    }
    if (i < n) {
        const typename O::F e = exp<O>(O::sub(load_partial<O>(x + i, n - i, kMinusInfinity), base));
        store_partial<O>(x + i, n - i, e);
        sum = O::add(sum, e);
    }
    return O::hsum(sum);
}

template <class O>
float sum_squares(const float* x, int64_t n) {
    return sum_of<O>(x, n, 0.0f, [](typename O::F v) { return O::mul(v, v); });
}

template <class O>
void scale_by(const float* x, const float* weight, float* out, int64_t n, float factor) {
    using F = typename O::F;
    map2<O>(x, weight, out, n, [&](F v, F w) { return O::mul(O::mul(v, O::set(factor)), w); });
}

template <class O>
void rms_norm(const NormArgs& a) {
    const float mean = sum_squares<O>(a.x, a.n) / static_cast<float>(a.n);
    scale_by<O>(a.x, a.weight, a.out, a.n, 1.0f / O::sqrt(mean + a.epsilon));
}

template <class O>
void layer_norm(const NormArgs& a) {
    using F = typename O::F;
    const auto count = static_cast<float>(a.n);
    const float mean = sum_of<O>(a.x, a.n, 0.0f, [](F v) { return v; }) / count;
    const F centre = O::set(mean);
    const float squares = sum_of<O>(a.x, a.n, mean, [&](F v) {
        const F distance = O::sub(v, centre);
        return O::mul(distance, distance);
    });
    const F factor = O::set(1.0f / O::sqrt(squares / count + a.epsilon));
    map2<O>(a.x, a.weight, a.out, a.n,
            [&](F v, F w) { return O::mul(O::mul(O::sub(v, centre), factor), w); });
    if (a.bias != nullptr) add<O>(a.out, a.bias, a.out, a.n);
}

}  // namespace
}  // namespace plait::backends::cpu::simd
