#pragma once

#include <cstdint>

namespace plait::backends::cpu::simd {
namespace {

// e^x for any x, within 2 ulp: x = n ln 2 + r with |r| <= ln 2 / 2 (Cody and Waite 1980: ln 2 in two parts,
// of which n times the first is exact), the Taylor series of e^r to r^7 (error 2^-27), and 2^n in two factors
// so that results below 2^-126 round once. Overflow gives infinity, -infinity gives 0, NaN stays.
template <class O>
typename O::F exp(typename O::F x) {
    using F = typename O::F;
    using I = typename O::I;
    constexpr float kShift =
        12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer in the low mantissa bits
    x = O::max(O::set(-105.0f), O::min(O::set(89.0f), x));
    const F shifted = O::fma(x, O::set(0x1.715476p+0f), O::set(kShift));
    const F n = O::sub(shifted, O::set(kShift));
    F r = O::fma(n, O::set(-0.693359375f), x);
    r = O::fma(n, O::set(0x1.bd0106p-13f), r);
    F p = O::set(1.0f / 5040.0f);
    p = O::fma(p, r, O::set(1.0f / 720.0f));
    p = O::fma(p, r, O::set(1.0f / 120.0f));
    p = O::fma(p, r, O::set(1.0f / 24.0f));
    p = O::fma(p, r, O::set(1.0f / 6.0f));
    p = O::fma(p, r, O::set(0.5f));
    p = O::fma(p, r, O::set(1.0f));
    p = O::fma(p, r, O::set(1.0f));
    if constexpr (requires { O::times_power(p, n); }) {
        return O::times_power(p, n);
    } else {
        const I exponent = O::sub_i(O::bits(shifted), O::bits(O::set(kShift)));
        const I half = O::template shift_right<1>(exponent);
        const auto power = [](I e) {
            return O::from_bits(O::template shift_left<23>(O::add_i(e, O::set_i(127))));
        };
        return O::mul(O::mul(p, power(half)), power(O::sub_i(exponent, half)));
    }
}

// 1 / (1 + e^-x) * x
template <class O>
typename O::F silu(typename O::F x) {
    const typename O::F e = exp<O>(O::sub(O::zero(), x));
    return O::div(x, O::add(O::set(1.0f), e));
}

// (1 + tanh(u)) / 2 = 1 / (1 + e^-2u) with 2u = 2 sqrt(2/pi) (x + 0.044715 x^3).
template <class O>
typename O::F gelu_tanh(typename O::F x) {
    const typename O::F inner = O::fma(O::set(0.044715f), O::mul(x, x), O::set(1.0f));
    const typename O::F e = exp<O>(O::mul(O::mul(O::set(-1.5957691216f), x), inner));
    return O::div(x, O::add(O::set(1.0f), e));
}

// max(x, 0) - |x| * erfc(|x| / sqrt(2)) / 2, where erfc(z) = t e^(-z^2 + p(t)) with t = 1 / (1 + z/2): p is
// fitted to z in [0, 11] by least squares reweighted to even out the error, which is 3e-7 of erfc. From 20 on
// erfc is 0, and infinities stay what they are.
template <class O>
typename O::F gelu_erf(typename O::F x) {
    using F = typename O::F;
    constexpr float kFit[] = {0.064377241f, -0.48771560f, 1.34008014f, -1.63320076f, 0.75424176f,
                              -0.19647433f, 0.42973295f,  0.99421746f, -1.26525903f};
    const F size = O::min(O::set(20.0f), O::max(O::sub(O::zero(), x), x));
    const F t = O::div(O::set(1.0f), O::fma(size, O::set(0.35355339f), O::set(1.0f)));
    F p = O::set(kFit[0]);
    for (int i = 1; i < 9; ++i) p = O::fma(p, t, O::set(kFit[i]));
    const F e = exp<O>(O::fma(O::mul(size, size), O::set(-0.5f), p));
    const F tail = O::mul(O::mul(size, O::set(0.5f)), O::mul(t, e));
    return O::sub(O::max(O::zero(), x), tail);
}

template <class O>
typename O::F sigmoid(typename O::F x) {
    const typename O::F e = exp<O>(O::sub(O::zero(), x));
    return O::div(O::set(1.0f), O::add(O::set(1.0f), e));
}

// cap * tanh(x / cap) = cap - 2 cap / (1 + e^(2x / cap)).
template <class O>
typename O::F soft_cap(typename O::F x, float cap) {
    const typename O::F e = exp<O>(O::mul(x, O::set(2.0f / cap)));
    return O::sub(O::set(cap), O::div(O::set(2.0f * cap), O::add(O::set(1.0f), e)));
}

}  // namespace
}  // namespace plait::backends::cpu::simd
