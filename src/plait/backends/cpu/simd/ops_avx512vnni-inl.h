#pragma once

#include "plait/backends/cpu/simd/blur-inl.h"
#include "plait/backends/cpu/simd/ops_x86-inl.h"

// The operations of 512-bit x86 with byte dot products, and those of 256 bits that go with them: for files
// built with at least -mavx2 -mfma -mf16c -mavx512bw -mavx512vl -mavx512vnni.
namespace plait::backends::cpu::simd {
namespace {

// What both kinds of 512-bit operations have.
struct ZmmBase {
    using F = __m512;
    using I = __m512i;

    static F zero() { return _mm512_setzero_ps(); }
    static F set(float v) { return _mm512_set1_ps(v); }
    static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
    static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
    static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
    static F to_f(I v) { return _mm512_cvtepi32_ps(v); }
    static I set_i(int32_t v) { return _mm512_set1_epi32(v); }
    static I sub_i(I a, I b) { return _mm512_sub_epi32(a, b); }
    static I and_i(I a, I b) { return _mm512_and_si512(a, b); }
};

// 16 interleaved rows in 512 bits, for matmul_q8_x8: each lane does what it does in 256 bits.
struct ZmmOps : ZmmBase {
    static constexpr int kGroups = 2;
    static constexpr int kPanelTokens = 6;
    static constexpr int kPanelVectors = 2;
    using B = __m512i;
    using Sum = __m512i;

    static I add_i(I a, I b) { return _mm512_add_epi32(a, b); }
    static I or_i(I a, I b) { return _mm512_or_si512(a, b); }
    static I max_i(I a, I b) { return _mm512_max_epi32(a, b); }
    template <int N>
    static I shift_left(I a) {
        return _mm512_slli_epi32(a, N);
    }
    static I shift_right_by(I a, int n) { return _mm512_sra_epi32(a, _mm_cvtsi32_si128(n)); }
    static F from_bits(I v) { return _mm512_castsi512_ps(v); }

    static B load_rows(const uint8_t* p, int64_t stride) {
        return _mm512_inserti64x4(_mm512_castsi256_si512(X86Ops::load_b(p)), X86Ops::load_b(p + stride), 1);
    }
    static F load_halves(const uint8_t* p, int64_t stride) {
        const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
        const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + stride));
        return _mm512_cvtph_ps(_mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1));
    }
    static I load_u8_rows(const uint8_t* p, int64_t stride) {
        return _mm512_cvtepu8_epi32(row_bytes(p, stride));
    }
    static I load_i8_rows(const uint8_t* p, int64_t stride) {
        return _mm512_cvtepi8_epi32(row_bytes(p, stride));
    }
    static B load_vector(const uint8_t* p) { return _mm512_loadu_si512(p); }
    static void store_vector(uint8_t* p, B v) { _mm512_storeu_si512(p, v); }
    static F load_rows_f(const float* p) { return _mm512_loadu_ps(p); }
    static void store_rows(float* p, F v) { _mm512_storeu_ps(p, v); }
    static B broadcast4(const int8_t* p) {
        int32_t four;
        __builtin_memcpy(&four, p, sizeof four);
        return _mm512_set1_epi32(four);
    }
    // In a register also where every use could load it.
    static B held(B v) {
        blur(v);
        return v;
    }
    static B low_nibbles(B v) { return _mm512_and_si512(v, _mm512_set1_epi8(15)); }
    static B high_nibbles(B v) { return low_nibbles(_mm512_srli_epi16(v, 4)); }
    static B set_b(int value) { return _mm512_set1_epi8(static_cast<char>(value)); }
    static B or_b(B a, B b) { return _mm512_or_si512(a, b); }
    static B and_b(B a, B b) { return _mm512_and_si512(a, b); }
    static B sub_b(B a, B b) { return _mm512_sub_epi8(a, b); }
    template <int N>
    static B shift_left_b(B v) {
        return _mm512_slli_epi16(v, N);
    }
    template <int N>
    static B shift_right_b(B v) {
        return _mm512_srli_epi16(v, N);
    }
    static B lookup_b(const int8_t* table, B codes) {
        const __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
        return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(values), codes);
    }

    static constexpr int kSignedBias = 128;
    static constexpr int dots_per_sum(int) { return 8; }
    static Sum zero_sum() { return _mm512_setzero_si512(); }
    static Sum dot_u7(Sum sum, B u, B s) { return _mm512_dpbusd_epi32(sum, u, s); }
    static I finish(Sum sum) { return sum; }
    static B biased(B w) { return _mm512_xor_si512(w, _mm512_set1_epi8(-128)); }
    static I dot_s8(I sum, B w, B s) { return dot_u7(sum, biased(w), s); }

  private:
    // 8 bytes of each of two groups.
    static __m128i row_bytes(const uint8_t* p, int64_t stride) {
        return _mm_unpacklo_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)),
                                  _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p + stride)));
    }
};

// Floats for attention, and what formats of caches are read to them with: a Row struct's part is then 16
// elements.
struct ZmmLanes : ZmmBase {
    static constexpr int kLanes = 16;
    static constexpr int kLaneRows = 12;

    static F load(const float* p) { return _mm512_loadu_ps(p); }
    static void store(float* p, F v) { _mm512_storeu_ps(p, v); }
    static F join(__m256 low, __m256 high) {
        return _mm512_castpd_ps(
            _mm512_insertf64x4(_mm512_castps_pd(_mm512_castps256_ps512(low)), _mm256_castps_pd(high), 1));
    }
    static F twice(__m256 v) { return _mm512_castpd_ps(_mm512_broadcast_f64x4(_mm256_castps_pd(v))); }
    // Of four tokens the halves of `first` are vectors of rows 0 and 1, those of `second` of rows 2 and 3:
    // lane 4 * t + r is X86Ops::hsum of token t's row r.
    static F sums_of_halves(const F (&first)[4], const F (&second)[4]) {
        F four[4];  // 128 bits a row: lanes 0 + 4, 1 + 5, 2 + 6, 3 + 7
        for (int t = 0; t < 4; ++t)
            four[t] = add(_mm512_shuffle_f32x4(first[t], second[t], 0x88),
                          _mm512_shuffle_f32x4(first[t], second[t], 0xDD));
        const auto two = [](F a, F b) {
            return add(_mm512_shuffle_ps(a, b, 0x44), _mm512_shuffle_ps(a, b, 0xEE));
        };
        const F low = two(four[0], four[1]), high = two(four[2], four[3]);
        const F by_row = add(_mm512_shuffle_ps(low, high, 0x88), _mm512_shuffle_ps(low, high, 0xDD));
        return _mm512_permutexvar_ps(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15),
                                     by_row);
    }
    static F held(F v) {
        blur(v);
        return v;
    }
    static F load_f16(const uint8_t* p) { return _mm512_cvtph_ps(X86Ops::load_b(p)); }
    static F load_bf16(const uint8_t* p) {
        return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(X86Ops::load_b(p)), 16));
    }
    static float half(const uint8_t* p) { return X86Ops::half(p); }
    static I load_u8(const uint8_t* p) { return _mm512_cvtepu8_epi32(load_128(p)); }
    static I load_i8(const uint8_t* p) { return _mm512_cvtepi8_epi32(load_128(p)); }
    template <int N>
    static I shift_right(I a) {
        return _mm512_srai_epi32(a, N);
    }
    static F add(F a, F b) { return _mm512_add_ps(a, b); }
    static F min(F a, F b) { return _mm512_min_ps(a, b); }
    static F max(F a, F b) { return _mm512_max_ps(a, b); }
    static F times_power(F v, F n) { return _mm512_scalef_ps(v, n); }
    static float hsum(F v) {
        float lanes[16];
        store(lanes, v);
        return X86Ops::hsum(_mm256_add_ps(_mm256_loadu_ps(lanes), _mm256_loadu_ps(lanes + 8)));
    }
    static float hmax(F v) {
        float lanes[16];
        store(lanes, v);
        return X86Ops::hmax(_mm256_max_ps(_mm256_loadu_ps(lanes), _mm256_loadu_ps(lanes + 8)));
    }

  private:
    static __m128i load_128(const uint8_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
};

struct Avx512VnniOps : X86Ops {
    static constexpr int kTileRows = 4;
    using Wide = ZmmOps;
    using Lanes = ZmmLanes;

    // 32-bit sums that do not saturate.
    using Sum = __m256i;
    static constexpr int kSignedBias = 128;
    static constexpr int dots_per_sum(int) { return 8; }
    static Sum zero_sum() { return _mm256_setzero_si256(); }
    static Sum dot_u7(Sum sum, B u, B s) { return _mm256_dpbusd_epi32(sum, u, s); }
    static I finish(Sum sum) { return sum; }

    static B biased(B w) { return _mm256_xor_si256(w, _mm256_set1_epi8(-128)); }
    // (w + 128) * s
    static I dot_s8(I sum, B w, B s) { return dot_u7(sum, biased(w), s); }
    // |w| * (sign(w) s)
    static I dot_s8_lanes(B w, B s) {
        return _mm256_dpbusd_epi32(_mm256_setzero_si256(), _mm256_sign_epi8(w, w), _mm256_sign_epi8(s, w));
    }
};

}  // namespace
}  // namespace plait::backends::cpu::simd
