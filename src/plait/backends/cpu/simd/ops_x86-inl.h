#pragma once

#include <immintrin.h>

#include <cstdint>

// The operations that kernels are written in, for 256-bit x86 (built with at least -mavx2 -mfma -mf16c). An
// instruction set is this struct plus its byte dot products (kernels_<isa>.cpp):
//
//   F  8 floats     I  8 32-bit integers     B  32 bytes     Sum  running sums of dot_u7
//
//   Sum dot_u7(Sum, B u, B s)   adds the products of unsigned and signed bytes, 4 neighbours per lane;
//                               I finish(Sum) after at most dots_per_sum(most) with u up to `most`
//   I   dot_s8(I, B w, B s)     the same for any signed w and s > -128, except that w counts as w +
//   kSignedBias B   biased(w)               these as unsigned bytes, for sets whose dot_u7 takes any
//   (kSignedBias is not 0) I   dot_s8_lanes(B w, B s)  one dot_s8 without a bias
//
//   where rows and tokens can be multiplied as matrices, two by two with 8 elements of each:
//   join(B a, B b, B& first, B& second)  4 elements of 8 rows and the 4 behind them, to 8 of rows 0 to 3 and
//                                        of rows 4 to 7
//   B broadcast_pair(a, b)      8 bytes of each of two tokens
//   I dot_pairs(I, B w, B s)    adds the products of signed bytes: lanes are row, token; row, next token
//   even_lanes(I first, I second), odd_lanes  of the first and of the second token, in the rows' order
//
//   set_b, or_b, and_b, sub_b   on each byte
//   B shift_left_b<N>, _right   on each byte; no set bit may leave it, or the bits that enter are masked
//   B field_b(v, shift, mask)   v >> shift & mask on each byte; the field may not leave it
//   lookup_b, lookup_i          table[code] for codes up to 15, in each byte or lane
//   expand_bits_b, _i           `value` where the bit of that number is set, else 0
//   F halves(first, second)     lanes 0 to 3, lanes 4 to 7
//
//   F held(F v)                 v, in a register also where every use could load it
//   transpose(F (&v)[8])        lane i of v[r] becomes lane r of v[i]
//   F times_power(F v, F n)     v * 2^n for whole numbers n, rounded once; where there is an instruction
//   Lanes                       the widest vector of floats: kLanes, kLaneRows (attention-inl.h)
//
//   load_rows, load_halves,     operands of 8 * kGroups interleaved rows, one group `stride` bytes after
//   load_u8_rows, load_i8_rows  the other (packed-inl.h)
//   load_vector, load_rows_f,   the same where the rows of all groups lie together
//   store_vector, store_rows
namespace plait::backends::cpu::simd {
namespace {

struct X86Ops {
    static constexpr int kGroups = 1;
    // Tile shapes, for 16 registers. They change no result.
    static constexpr int kStreams = 4;  // rows walked together for a single token
    static constexpr int kTileRows =
        2;  // rows x tokens of a tile in the row layout; also queries of weighted_rows
    static constexpr int kTileTokens = 4;  //
    static constexpr int kPanelTokens = 4;
    static constexpr int kPanelVectors = 1;
    static constexpr int kLanes = 8;
    static constexpr int kLaneRows = 6;
    using Lanes = X86Ops;
    using F = __m256;
    using I = __m256i;
    using B = __m256i;

    // Floats. min and max give their second operand if either is NaN.
    static F zero() { return _mm256_setzero_ps(); }
    static F set(float v) { return _mm256_set1_ps(v); }
    static F load(const float* p) { return _mm256_loadu_ps(p); }
    static void store(float* p, F v) { _mm256_storeu_ps(p, v); }
    static F load_f16(const uint8_t* p) { return _mm256_cvtph_ps(load_128(p)); }
    static F load_bf16(const uint8_t* p) {
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_128(p)), 16));
    }
    static float half(const uint8_t* p) {
        uint16_t bits;
        __builtin_memcpy(&bits, p, sizeof bits);
        return _cvtsh_ss(bits);
    }
    static F held(F v) {
        asm("" : "+x"(v));
        return v;
    }
    static F add(F a, F b) { return _mm256_add_ps(a, b); }
    static F sub(F a, F b) { return _mm256_sub_ps(a, b); }
    static F mul(F a, F b) { return _mm256_mul_ps(a, b); }
    static F halves(float first, float second) {
        return _mm256_insertf128_ps(_mm256_set1_ps(first), _mm_set1_ps(second), 1);
    }
    static F div(F a, F b) { return _mm256_div_ps(a, b); }
    static F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
    static F min(F a, F b) { return _mm256_min_ps(a, b); }
    static F max(F a, F b) { return _mm256_max_ps(a, b); }
    static float sqrt(float v) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(v))); }
    static float hsum(F v) {
        const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
        const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
    }
    static float hmax(F v) {
        const __m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
        const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
    }

    static void transpose(F (&v)[8]) {
        F pairs[8], fours[8];
#pragma GCC unroll 8
        for (int i = 0; i < 8; i += 2) {
            pairs[i] = _mm256_unpacklo_ps(v[i], v[i + 1]);
            pairs[i + 1] = _mm256_unpackhi_ps(v[i], v[i + 1]);
        }
#pragma GCC unroll 8
        for (int i = 0; i < 8; i += 4) {
            fours[i] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
            fours[i + 1] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0xEE);
            fours[i + 2] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44);
            fours[i + 3] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xEE);
        }
#pragma GCC unroll 8
        for (int i = 0; i < 4; ++i) {
            v[i] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x20);
            v[i + 4] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x31);
        }
    }

    // 32-bit integers.
    static I set_i(int32_t v) { return _mm256_set1_epi32(v); }
    static I lane0_i(int32_t v) { return _mm256_zextsi128_si256(_mm_cvtsi32_si128(v)); }
    static I load_u8(const uint8_t* p) { return _mm256_cvtepu8_epi32(load_64(p)); }
    static I load_i8(const uint8_t* p) { return _mm256_cvtepi8_epi32(load_64(p)); }
    static I add_i(I a, I b) { return _mm256_add_epi32(a, b); }
    static I sub_i(I a, I b) { return _mm256_sub_epi32(a, b); }
    static I and_i(I a, I b) { return _mm256_and_si256(a, b); }
    static I or_i(I a, I b) { return _mm256_or_si256(a, b); }
    static I xor_i(I a, I b) { return _mm256_xor_si256(a, b); }
    static I max_i(I a, I b) { return _mm256_max_epi32(a, b); }
    template <int N>
    static I shift_left(I a) {
        return _mm256_slli_epi32(a, N);
    }
    template <int N>
    static I shift_right(I a) {
        return _mm256_srai_epi32(a, N);
    }
    static I shift_right_by(I a, int n) { return _mm256_sra_epi32(a, _mm_cvtsi32_si128(n)); }
    // A byte shuffle looks up the lowest byte of each lane, the other bytes become 0; shifts carry the sign.
    static I lookup_i(const int8_t* table, I codes) {
        const I others = set_i(static_cast<int32_t>(0x80808000));
        const I bytes = _mm256_shuffle_epi8(load_table(table), _mm256_or_si256(codes, others));
        return _mm256_srai_epi32(_mm256_slli_epi32(bytes, 24), 24);
    }
    static I expand_bits_i(uint8_t bits, int32_t value) {
        const I bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
        const I set = _mm256_cmpeq_epi32(and_i(set_i(bits), bit), bit);
        return and_i(set, set_i(value));
    }
    static I bits(F v) { return _mm256_castps_si256(v); }
    static F from_bits(I v) { return _mm256_castsi256_ps(v); }
    static F to_f(I v) { return _mm256_cvtepi32_ps(v); }
    static I round_i(F v) { return _mm256_cvtps_epi32(v); }
    static int32_t hsum_i(I v) {
        const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
        const __m128i two = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
        return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 1)));
    }
    static int32_t hmax_i(I v) {
        const __m128i four = _mm_max_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
        const __m128i two = _mm_max_epi32(four, _mm_unpackhi_epi64(four, four));
        return _mm_cvtsi128_si32(_mm_max_epi32(two, _mm_shuffle_epi32(two, 1)));
    }
    static void store_i8(int8_t* p, I a, I b, I c, I d) {
        // The packs work within 128-bit halves and leave the groups of 4 bytes as a0 b0 c0 d0 a1 b1 c1 d1.
        const I packed = _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
        const I ordered = _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), ordered);
    }

    // Bytes.
    static B load_b(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
    static B load_rows(const uint8_t* p, int64_t) { return load_b(p); }
    static F load_halves(const uint8_t* p, int64_t) { return load_f16(p); }
    static I load_u8_rows(const uint8_t* p, int64_t) { return load_u8(p); }
    static I load_i8_rows(const uint8_t* p, int64_t) { return load_i8(p); }
    static B load_vector(const uint8_t* p) { return load_b(p); }
    static void store_vector(uint8_t* p, B v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
    static F load_rows_f(const float* p) { return load(p); }
    static void store_rows(float* p, F v) { store(p, v); }
    static B broadcast4(const int8_t* p) {
        int32_t four;
        __builtin_memcpy(&four, p, sizeof four);
        return _mm256_set1_epi32(four);
    }
    static B low_nibbles(B v) { return _mm256_and_si256(v, _mm256_set1_epi8(15)); }
    static B high_nibbles(B v) { return low_nibbles(_mm256_srli_epi16(v, 4)); }
    // 16 bytes to the 32 numbers of a Q4 block in order.
    static B expand_nibbles(const uint8_t* p) {
        const __m128i v = load_128(p);
        return low_nibbles(_mm256_inserti128_si256(_mm256_castsi128_si256(v), _mm_srli_epi16(v, 4), 1));
    }

    static B set_b(int value) { return _mm256_set1_epi8(static_cast<char>(value)); }
    static B or_b(B a, B b) { return _mm256_or_si256(a, b); }
    static B and_b(B a, B b) { return _mm256_and_si256(a, b); }
    static B sub_b(B a, B b) { return _mm256_sub_epi8(a, b); }
    template <int N>
    static B shift_left_b(B v) {
        return _mm256_slli_epi16(v, N);
    }
    template <int N>
    static B shift_right_b(B v) {
        return _mm256_srli_epi16(v, N);
    }
    static B field_b(B v, int shift, int mask) {
        return _mm256_and_si256(_mm256_srl_epi16(v, _mm_cvtsi32_si128(shift)), set_b(mask));
    }
    static B lookup_b(const int8_t* table, B codes) { return _mm256_shuffle_epi8(load_table(table), codes); }
    static B expand_bits_b(const uint8_t* bits, int value) {
        int32_t four;
        __builtin_memcpy(&four, bits, sizeof four);
        const B places = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
        const B bit = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201));
        const B bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(four), places);
        const B set = _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit);
        return _mm256_and_si256(set, set_b(value));
    }

  private:
    static B load_table(const int8_t* table) {
        return _mm256_broadcastsi128_si256(load_128(reinterpret_cast<const uint8_t*>(table)));
    }
    static __m128i load_128(const uint8_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
    static __m128i load_64(const uint8_t* p) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)); }
};

}  // namespace
}  // namespace plait::backends::cpu::simd
