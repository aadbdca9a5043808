#pragma once

#include "plait/backends/cpu/simd/dots-inl.h"
#include "plait/backends/cpu/simd/weights_k-inl.h"

// Integer dot products as in dots-inl.h for blocks of 256. Where 16 elements share a scale, lanes 0 to 3
// belong to one and lanes 4 to 7 to the next.
namespace plait::backends::cpu::simd {
namespace {

// value = code * d, a scale per half: signed codes from -32.
template <class O>
struct SignedHalves {
    typename O::B codes;
    typename O::F d;
};

template <class O>
typename O::F add_dot(typename O::F sum, const SignedHalves<O>& w, const ActBlock& x) {
    const typename O::I dot = O::dot_s8_lanes(w.codes, O::load_b(x.q));
    return O::fma(O::to_f(dot), O::mul(w.d, O::set(x.d)), sum);
}

// value = code * d + m, a scale and a minimum per half: unsigned codes up to 3.
template <class O>
struct HalvesWithMin {
    typename O::B codes;
    typename O::F d, m;
};

template <class O>
typename O::F add_dot(typename O::F sum, const HalvesWithMin<O>& w, const ActBlock& x) {
    const typename O::B q = O::load_b(x.q);
    const typename O::F scale = O::set(x.d);
    const auto dot = [&](typename O::B codes) {
        return O::to_f(O::finish(O::dot_u7(O::zero_sum(), codes, q)));
    };
    sum = O::fma(dot(w.codes), O::mul(w.d, scale), sum);
    return O::fma(dot(O::set_b(1)), O::mul(w.m, scale), sum);
}

// 32 of the two-bit codes of Q2_K, Q3_K and Q6_K.
template <class O>
typename O::B two_bits_b(const uint8_t* q, int part) {
    return O::field_b(O::load_b(q + part / 4 * 32), part % 4 * 2, 3);
}

// 32 of the nibbles of Q4_K and Q5_K.
template <class O>
typename O::B paired_nibbles_b(const uint8_t* q, int part) {
    return O::field_b(O::load_b(q + part / 2 * 32), part % 2 * 4, 15);
}

template <class O>
struct DotQ2_K {
    static HalvesWithMin<O> load(const uint8_t* row, int64_t at) {
        const auto [block, part] = Eighth<dtype::BlockQ2_K>::of(row, at);
        const int first = block.scales[2 * part];
        const int second = block.scales[2 * part + 1];
        const float d = half_of<O>(block.d);
        const float m = -half_of<O>(block.dmin);
        return {two_bits_b<O>(block.q, part),
                O::halves(d * static_cast<float>(first & 15), d * static_cast<float>(second & 15)),
                O::halves(m * static_cast<float>(first >> 4), m * static_cast<float>(second >> 4))};
    }
};

template <class O>
struct DotQ3_K {
    static SignedHalves<O> load(const uint8_t* row, int64_t at) {
        const auto [block, part] = Eighth<dtype::BlockQ3_K>::of(row, at);
        const typename O::B high = O::template shift_left_b<2>(O::field_b(O::load_b(block.high), part, 1));
        const float d = half_of<O>(block.d);
        const auto scale = [&](int i) {
            return d * static_cast<float>(dtype::scale_at(block.scales, 2 * part + i) - 32);
        };
        return {O::sub_b(O::or_b(two_bits_b<O>(block.low, part), high), O::set_b(4)),
                O::halves(scale(0), scale(1))};
    }
};

template <class O, class Block>
CodesWithMin<O> with_scale_and_min(typename O::B codes, const Block& block, int part) {
    const dtype::ScaleMin pair = dtype::scale_min_at(block.scales, part);
    return {codes, half_of<O>(block.d) * static_cast<float>(pair.scale),
            -half_of<O>(block.dmin) * static_cast<float>(pair.min)};
}

template <class O>
struct DotQ4_K {
    static CodesWithMin<O> load(const uint8_t* row, int64_t at) {
        const auto [block, part] = Eighth<dtype::BlockQ4_K>::of(row, at);
        return with_scale_and_min<O>(paired_nibbles_b<O>(block.q, part), block, part);
    }
};

template <class O>
struct DotQ5_K {
    static CodesWithMin<O> load(const uint8_t* row, int64_t at) {
        const auto [block, part] = Eighth<dtype::BlockQ5_K>::of(row, at);
        const typename O::B high = O::template shift_left_b<4>(O::field_b(O::load_b(block.high), part, 1));
        return with_scale_and_min<O>(O::or_b(paired_nibbles_b<O>(block.low, part), high), block, part);
    }
};

template <class O>
struct DotQ6_K {
    static SignedHalves<O> load(const uint8_t* row, int64_t at) {
        const auto [block, part] = Eighth<dtype::BlockQ6_K>::of(row, at);
        const uint8_t* bytes = block.low + part / 4 * 64 + part % 2 * 32;
        const typename O::B low = O::field_b(O::load_b(bytes), part / 2 % 2 * 4, 15);
        const typename O::B high = O::template shift_left_b<4>(two_bits_b<O>(block.high, part));
        const float d = half_of<O>(block.d);
        return {O::sub_b(O::or_b(low, high), O::set_b(32)),
                O::halves(d * static_cast<float>(block.scales[2 * part]),
                          d * static_cast<float>(block.scales[2 * part + 1]))};
    }
};

template <class O>
struct DotIQ4_XS {
    static SignedCodes<O> load(const uint8_t* row, int64_t at) {
        const auto [block, part] = Eighth<dtype::BlockIQ4_XS>::of(row, at);
        return {O::lookup_b(dtype::kIq4Values, O::expand_nibbles(block.q + 16 * part)),
                iq4_xs_scale<O>(block, part)};
    }
};

}  // namespace
}  // namespace plait::backends::cpu::simd
