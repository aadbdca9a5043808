#pragma once

#include "plait/backends/cpu/simd/kernel_table.h"
#include "plait/dtype/code_values.h"

// Integer dot products of 32 weights in GGUF's row layout with one ActBlock, by format: load(row, block)
// gives what the weights of block `block` need for any number of activations, add() what they add to a sum. A
// lane holds the products of 4 neighbouring elements; the lanes are added up at the end of the row.
namespace plait::backends::cpu::simd {
namespace {

// value = code * d: any signed codes.
template <class O>
struct SignedCodes {
    typename O::B codes;
    float d;
};

template <class O>
typename O::F add_dot(typename O::F sum, const SignedCodes<O>& w, const ActBlock& x) {
    const typename O::I dot = O::dot_s8_lanes(w.codes, O::load_b(x.q));
    return O::fma(O::to_f(dot), O::set(w.d * x.d), sum);
}

// value = (code - offset) * d: unsigned codes up to 31.
template <class O, int Offset>
struct OffsetCodes {
    typename O::B codes;
    float d;
};

template <class O, int Offset>
typename O::F add_dot(typename O::F sum, const OffsetCodes<O, Offset>& w, const ActBlock& x) {
    const typename O::I dot = O::finish(O::dot_u7(O::zero_sum(), w.codes, O::load_b(x.q)));
    return O::fma(O::to_f(O::sub_i(dot, O::lane0_i(Offset * static_cast<int32_t>(x.sum)))), O::set(w.d * x.d),
                  sum);
}

// value = code * d + m: unsigned codes up to 31.
template <class O>
struct CodesWithMin {
    typename O::B codes;
    float d, m;
};

template <class O>
typename O::F add_dot(typename O::F sum, const CodesWithMin<O>& w, const ActBlock& x) {
    const typename O::I dot = O::finish(O::dot_u7(O::zero_sum(), w.codes, O::load_b(x.q)));
    sum = O::fma(O::to_f(dot), O::set(w.d * x.d), sum);
    return O::fma(O::to_f(O::lane0_i(static_cast<int32_t>(x.sum))), O::set(w.m * x.d), sum);
}

template <class O>
struct DotQ8_0 {
    static SignedCodes<O> load(const uint8_t* row, int64_t block) {
        const uint8_t* p = row + 34 * block;
        return {O::load_b(p + 2), O::half(p)};
    }
};

template <class O>
struct DotQ4_0 {
    static OffsetCodes<O, 8> load(const uint8_t* row, int64_t block) {
        const uint8_t* p = row + 18 * block;
        return {O::expand_nibbles(p + 2), O::half(p)};
    }
};

template <class O>
struct DotQ4_1 {
    static CodesWithMin<O> load(const uint8_t* row, int64_t block) {
        const uint8_t* p = row + 20 * block;
        return {O::expand_nibbles(p + 4), O::half(p), O::half(p + 2)};
    }
};

template <class O>
typename O::B five_bits(const uint8_t* high) {
    return O::or_b(O::expand_nibbles(high + 4), O::expand_bits_b(high, 16));
}

template <class O>
struct DotQ5_0 {
    static OffsetCodes<O, 16> load(const uint8_t* row, int64_t block) {
        const uint8_t* p = row + 22 * block;
        return {five_bits<O>(p + 2), O::half(p)};
    }
};

template <class O>
struct DotQ5_1 {
    static CodesWithMin<O> load(const uint8_t* row, int64_t block) {
        const uint8_t* p = row + 24 * block;
        return {five_bits<O>(p + 4), O::half(p), O::half(p + 2)};
    }
};

template <class O>
struct DotIQ4_NL {
    static SignedCodes<O> load(const uint8_t* row, int64_t block) {
        const uint8_t* p = row + 18 * block;
        return {O::lookup_b(dtype::kIq4Values, O::expand_nibbles(p + 2)), O::half(p)};
    }
};

template <class O>
struct DotMXFP4 {
    static SignedCodes<O> load(const uint8_t* row, int64_t block) {
        const uint8_t* p = row + 17 * block;
        return {O::lookup_b(dtype::kE2m1Values, O::expand_nibbles(p + 1)), dtype::half_of_e8m0(p[0])};
    }
};

}  // namespace
}  // namespace plait::backends::cpu::simd
