#pragma once

#include <smmintrin.h>

#include <cstdint>

// The operations of ops_x86-inl.h in pairs of 128-bit vectors (built with -mssse3 -msse4.1).
namespace plait::backends::cpu::simd {
namespace {

struct Sse4Ops {
    static constexpr int kGroups = 1;
    // A vector is two registers and 16 are all there are: larger tiles would only spill.
    static constexpr int kStreams = 1;
    static constexpr int kTileRows = 1;
    static constexpr int kTileTokens = 1;
    static constexpr int kPanelTokens = 2;
    static constexpr int kPanelVectors = 1;
    static constexpr int kLanes = 8;
    static constexpr int kLaneRows = 2;
    using Wide = Sse4Ops;
    using Lanes = Sse4Ops;
    struct F {
        __m128 low, high;
    };
    struct I {
        __m128i low, high;
    };
    using B = I;
    using Sum = I;

    // Floats. min and max give their second operand if either is NaN.
    static F zero() { return {_mm_setzero_ps(), _mm_setzero_ps()}; }
    static F set(float v) { return {_mm_set1_ps(v), _mm_set1_ps(v)}; }
    static F load(const float* p) { return {_mm_loadu_ps(p), _mm_loadu_ps(p + 4)}; }
    static void store(float* p, F v) {
        _mm_storeu_ps(p, v.low);
        _mm_storeu_ps(p + 4, v.high);
    }
    static F load_f16(const uint8_t* p) { return {four_halves(load_64(p)), four_halves(load_64(p + 8))}; }
    static F load_bf16(const uint8_t* p) { return {four_bf16(load_64(p)), four_bf16(load_64(p + 8))}; }
    static float half(const uint8_t* p) {
        uint16_t bits;
        __builtin_memcpy(&bits, p, sizeof bits);
        return _mm_cvtss_f32(four_halves(_mm_cvtsi32_si128(bits)));
    }
    static F held(F v) { return v; }
    static F add(F a, F b) { return {_mm_add_ps(a.low, b.low), _mm_add_ps(a.high, b.high)}; }
    static F sub(F a, F b) { return {_mm_sub_ps(a.low, b.low), _mm_sub_ps(a.high, b.high)}; }
    static F mul(F a, F b) { return {_mm_mul_ps(a.low, b.low), _mm_mul_ps(a.high, b.high)}; }
    static F halves(float first, float second) { return {_mm_set1_ps(first), _mm_set1_ps(second)}; }
    static F div(F a, F b) { return {_mm_div_ps(a.low, b.low), _mm_div_ps(a.high, b.high)}; }
    // Two roundings: the instruction came with AVX2.
    static F fma(F a, F b, F c) { return add(mul(a, b), c); }
    static F min(F a, F b) { return {_mm_min_ps(a.low, b.low), _mm_min_ps(a.high, b.high)}; }
    static F max(F a, F b) { return {_mm_max_ps(a.low, b.low), _mm_max_ps(a.high, b.high)}; }
    static float sqrt(float v) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(v))); }
    static float hsum(F v) {
        const __m128 four = _mm_add_ps(v.low, v.high);
        const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
    }
    static float hmax(F v) {
        const __m128 four = _mm_max_ps(v.low, v.high);
        const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
    }

    static void transpose(F (&v)[8]) {
        for (int i = 0; i < 8; i += 4) {
            _MM_TRANSPOSE4_PS(v[i].low, v[i + 1].low, v[i + 2].low, v[i + 3].low);
            _MM_TRANSPOSE4_PS(v[i].high, v[i + 1].high, v[i + 2].high, v[i + 3].high);
        }
        for (int i = 0; i < 4; ++i) {
            const __m128 corner = v[i].high;
            v[i].high = v[i + 4].low;
            v[i + 4].low = corner;
        }
    }

    // 32-bit integers.
    static I set_i(int32_t v) { return {_mm_set1_epi32(v), _mm_set1_epi32(v)}; }
    static I lane0_i(int32_t v) { return {_mm_cvtsi32_si128(v), _mm_setzero_si128()}; }
    static I load_u8(const uint8_t* p) {
        const __m128i bytes = load_64(p);
        return {_mm_cvtepu8_epi32(bytes), _mm_cvtepu8_epi32(_mm_srli_si128(bytes, 4))};
    }
    static I load_i8(const uint8_t* p) {
        const __m128i bytes = load_64(p);
        return {_mm_cvtepi8_epi32(bytes), _mm_cvtepi8_epi32(_mm_srli_si128(bytes, 4))};
    }
    static I add_i(I a, I b) { return {_mm_add_epi32(a.low, b.low), _mm_add_epi32(a.high, b.high)}; }
    static I sub_i(I a, I b) { return {_mm_sub_epi32(a.low, b.low), _mm_sub_epi32(a.high, b.high)}; }
    static I and_i(I a, I b) { return {_mm_and_si128(a.low, b.low), _mm_and_si128(a.high, b.high)}; }
    static I or_i(I a, I b) { return {_mm_or_si128(a.low, b.low), _mm_or_si128(a.high, b.high)}; }
    static I xor_i(I a, I b) { return {_mm_xor_si128(a.low, b.low), _mm_xor_si128(a.high, b.high)}; }
    static I max_i(I a, I b) { return {_mm_max_epi32(a.low, b.low), _mm_max_epi32(a.high, b.high)}; }
    template <int N>
    static I shift_left(I a) {
        return {_mm_slli_epi32(a.low, N), _mm_slli_epi32(a.high, N)};
    }
    template <int N>
    static I shift_right(I a) {
        return {_mm_srai_epi32(a.low, N), _mm_srai_epi32(a.high, N)};
    }
    static I shift_right_by(I a, int n) {
        const __m128i count = _mm_cvtsi32_si128(n);
        return {_mm_sra_epi32(a.low, count), _mm_sra_epi32(a.high, count)};
    }
    // A byte shuffle looks up the lowest byte of each lane, the other bytes become 0; shifts carry the sign.
    static I lookup_i(const int8_t* table, I codes) {
        const __m128i values = load_128(reinterpret_cast<const uint8_t*>(table));
        const __m128i others = _mm_set1_epi32(static_cast<int32_t>(0x80808000));
        const auto look_up = [&](__m128i v) {
            const __m128i bytes = _mm_shuffle_epi8(values, _mm_or_si128(v, others));
            return _mm_srai_epi32(_mm_slli_epi32(bytes, 24), 24);
        };
        return {look_up(codes.low), look_up(codes.high)};
    }
    static I expand_bits_i(uint8_t bits, int32_t value) {
        const auto where_set = [&](__m128i bit) {
            const __m128i set = _mm_cmpeq_epi32(_mm_and_si128(_mm_set1_epi32(bits), bit), bit);
            return _mm_and_si128(set, _mm_set1_epi32(value));
        };
        return {where_set(_mm_setr_epi32(1, 2, 4, 8)), where_set(_mm_setr_epi32(16, 32, 64, 128))};
    }
    static I bits(F v) { return {_mm_castps_si128(v.low), _mm_castps_si128(v.high)}; }
    static F from_bits(I v) { return {_mm_castsi128_ps(v.low), _mm_castsi128_ps(v.high)}; }
    static F to_f(I v) { return {_mm_cvtepi32_ps(v.low), _mm_cvtepi32_ps(v.high)}; }
    static I round_i(F v) { return {_mm_cvtps_epi32(v.low), _mm_cvtps_epi32(v.high)}; }
    static int32_t hsum_i(I v) {
        const __m128i four = _mm_add_epi32(v.low, v.high);
        const __m128i two = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
        return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 1)));
    }
    static int32_t hmax_i(I v) {
        const __m128i four = _mm_max_epi32(v.low, v.high);
        const __m128i two = _mm_max_epi32(four, _mm_unpackhi_epi64(four, four));
        return _mm_cvtsi128_si32(_mm_max_epi32(two, _mm_shuffle_epi32(two, 1)));
    }
    static void store_i8(int8_t* p, I a, I b, I c, I d) {
        const auto sixteen = [](I u, I v) {
            return _mm_packs_epi16(_mm_packs_epi32(u.low, u.high), _mm_packs_epi32(v.low, v.high));
        };
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p), sixteen(a, b));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 16), sixteen(c, d));
    }

    // Bytes.
    static B load_b(const void* p) {
        const auto* bytes = static_cast<const uint8_t*>(p);
        return {load_128(bytes), load_128(bytes + 16)};
    }
    static B load_rows(const uint8_t* p, int64_t) { return load_b(p); }
    static F load_halves(const uint8_t* p, int64_t) { return load_f16(p); }
    static I load_u8_rows(const uint8_t* p, int64_t) { return load_u8(p); }
    static I load_i8_rows(const uint8_t* p, int64_t) { return load_i8(p); }
    static B load_vector(const uint8_t* p) { return load_b(p); }
    static void store_vector(uint8_t* p, B v) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v.low);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 16), v.high);
    }
    static F load_rows_f(const float* p) { return load(p); }
    static void store_rows(float* p, F v) { store(p, v); }
    static B broadcast4(const int8_t* p) {
        int32_t four;
        __builtin_memcpy(&four, p, sizeof four);
        return set_i(four);
    }
    static B low_nibbles(B v) { return {nibbles(v.low), nibbles(v.high)}; }
    static B high_nibbles(B v) { return {upper_nibbles(v.low), upper_nibbles(v.high)}; }
    static B expand_nibbles(const uint8_t* p) {
        const __m128i both = load_128(p);
        return {nibbles(both), upper_nibbles(both)};
    }

    static B set_b(int value) {
        const __m128i v = _mm_set1_epi8(static_cast<char>(value));
        return {v, v};
    }
    static B or_b(B a, B b) { return {_mm_or_si128(a.low, b.low), _mm_or_si128(a.high, b.high)}; }
    static B and_b(B a, B b) { return {_mm_and_si128(a.low, b.low), _mm_and_si128(a.high, b.high)}; }
    static B sub_b(B a, B b) { return {_mm_sub_epi8(a.low, b.low), _mm_sub_epi8(a.high, b.high)}; }
    template <int N>
    static B shift_left_b(B v) {
        return {_mm_slli_epi16(v.low, N), _mm_slli_epi16(v.high, N)};
    }
    template <int N>
    static B shift_right_b(B v) {
        return {_mm_srli_epi16(v.low, N), _mm_srli_epi16(v.high, N)};
    }
    static B field_b(B v, int shift, int mask) {
        const __m128i count = _mm_cvtsi32_si128(shift);
        const __m128i bits = _mm_set1_epi8(static_cast<char>(mask));
        return {_mm_and_si128(_mm_srl_epi16(v.low, count), bits),
                _mm_and_si128(_mm_srl_epi16(v.high, count), bits)};
    }
    static B lookup_b(const int8_t* table, B codes) {
        const __m128i values = load_128(reinterpret_cast<const uint8_t*>(table));
        return {_mm_shuffle_epi8(values, codes.low), _mm_shuffle_epi8(values, codes.high)};
    }
    static B expand_bits_b(const uint8_t* bits, int value) {
        int32_t four;
        __builtin_memcpy(&four, bits, sizeof four);
        const __m128i bit = _mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 1, 2, 4, 8, 16, 32, 64, -128);
        const auto where_set = [&](__m128i places) {
            const __m128i bytes = _mm_shuffle_epi8(_mm_set1_epi32(four), places);
            const __m128i set = _mm_cmpeq_epi8(_mm_and_si128(bytes, bit), bit);
            return _mm_and_si128(set, _mm_set1_epi8(static_cast<char>(value)));
        };
        return {where_set(_mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1)),
                where_set(_mm_setr_epi8(2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3))};
    }

    // Byte dot products as AVX2 does them (kernels_avx2.cpp): 16-bit sums of pairs, which 8 steps cannot
    // overflow; signed bytes as |w| * (sign(w) s).
    static constexpr int kSignedBias = 0;
    static constexpr int dots_per_sum(int most) {
        return 32767 / (2 * 127 * most) < 8 ? 32767 / (2 * 127 * most) : 8;
    }
    static Sum zero_sum() { return set_i(0); }
    static Sum dot_u7(Sum sum, B u, B s) {
        return {_mm_add_epi16(sum.low, _mm_maddubs_epi16(u.low, s.low)),
                _mm_add_epi16(sum.high, _mm_maddubs_epi16(u.high, s.high))};
    }
    static I finish(Sum sum) { return {add_pairs(sum.low), add_pairs(sum.high)}; }
    static I dot_s8(I sum, B w, B s) {
        return add_i(sum, {products(w.low, s.low), products(w.high, s.high)});
    }
    static I dot_s8_lanes(B w, B s) { return {products(w.low, s.low), products(w.high, s.high)}; }

  private:
    static __m128i load_128(const uint8_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
    static __m128i load_64(const uint8_t* p) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)); }

    static __m128 four_bf16(__m128i v) { return _mm_castsi128_ps(_mm_slli_epi32(_mm_cvtepu16_epi32(v), 16)); }
    // 2^112 moves the exponent from one bias to the other, for subnormals too; infinities and NaN are put
    // right by hand.
    static __m128 four_halves(__m128i v) {
        const __m128i wide = _mm_cvtepu16_epi32(v);
        const __m128i magnitude = _mm_slli_epi32(_mm_and_si128(wide, _mm_set1_epi32(0x7FFF)), 13);
        const __m128i sign = _mm_slli_epi32(_mm_and_si128(wide, _mm_set1_epi32(0x8000)), 16);
        const __m128i special = _mm_and_si128(_mm_cmpgt_epi32(magnitude, _mm_set1_epi32((31 << 23) - 1)),
                                              _mm_set1_epi32(0x7F800000));
        const __m128 rebiased = _mm_mul_ps(_mm_castsi128_ps(magnitude), _mm_set1_ps(0x1.0p+112f));
        return _mm_or_ps(rebiased, _mm_castsi128_ps(_mm_or_si128(special, sign)));
    }

    static __m128i nibbles(__m128i v) { return _mm_and_si128(v, _mm_set1_epi8(15)); }
    static __m128i upper_nibbles(__m128i v) { return nibbles(_mm_srli_epi16(v, 4)); }
    static __m128i add_pairs(__m128i words) { return _mm_madd_epi16(words, _mm_set1_epi16(1)); }
    static __m128i products(__m128i w, __m128i s) {
        return add_pairs(_mm_maddubs_epi16(_mm_sign_epi8(w, w), _mm_sign_epi8(s, w)));
    }
};

}  // namespace
}  // namespace plait::backends::cpu::simd
