#pragma once

// The instructions of x86 that AVX2 lacks, in software: SIMDe's, and those that Debian 12's SIMDe lacks. To
// be included in front of kernels for AVX-512 or AVX-VNNI, in files built with -mavx2 -mfma -mf16c.
#include <immintrin.h>

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

namespace plait::backends::cpu::simd {
namespace {

// Makes 512 bits of two halves.
template <class To, class Fn>
To in_halves(const Fn& half) {
    const decltype(half(0)) halves[2] = {half(0), half(1)};
    To both;
    static_assert(sizeof both == sizeof halves);
    __builtin_memcpy(&both, halves, sizeof both);
    return both;
}
inline __m256i half_of(__m512i v, int half) {
    __m256i halves[2];
    __builtin_memcpy(halves, &v, sizeof v);
    return halves[half];
}
inline __m128i half_of(__m256i v, int half) {
    return half == 0 ? _mm256_castsi256_si128(v) : _mm256_extracti128_si256(v, 1);
}
inline __m128i half_of(__m128i v, int half) { return half == 0 ? v : _mm_srli_si128(v, 8); }

inline __m512 simde_cvtepi32_ps(__m512i v) {
    return in_halves<__m512>([&](int half) { return _mm256_cvtepi32_ps(half_of(v, half)); });
}
inline __m512i simde_cvtepi8_epi32(__m128i v) {
    return in_halves<__m512i>([&](int half) { return _mm256_cvtepi8_epi32(half_of(v, half)); });
}
inline __m512i simde_cvtepu8_epi32(__m128i v) {
    return in_halves<__m512i>([&](int half) { return _mm256_cvtepu8_epi32(half_of(v, half)); });
}
inline __m512i simde_cvtepu16_epi32(__m256i v) {
    return in_halves<__m512i>([&](int half) { return _mm256_cvtepu16_epi32(half_of(v, half)); });
}
inline __m512 simde_cvtph_ps(__m256i v) {
    return in_halves<__m512>([&](int half) { return _mm256_cvtph_ps(half_of(v, half)); });
}
inline __m512i simde_sra_epi32(__m512i v, __m128i count) {
    return in_halves<__m512i>([&](int half) { return _mm256_sra_epi32(half_of(v, half), count); });
}
inline __m512i simde_srai_epi32(__m512i v, int count) { return simde_sra_epi32(v, _mm_cvtsi32_si128(count)); }

// Not inline, since a table would then be little else, and take minutes to compile.
[[gnu::noinline]] __m512i call_dpbusd(__m512i sum, __m512i u, __m512i s) {
    return simde_mm512_dpbusd_epi32(sum, u, s);
}
[[gnu::noinline]] __m256i call_dpbusd(__m256i sum, __m256i u, __m256i s) {
    return simde_mm256_dpbusd_epi32(sum, u, s);
}

}  // namespace
}  // namespace plait::backends::cpu::simd

#define _mm512_cvtepi32_ps simde_cvtepi32_ps
#define _mm512_cvtepi8_epi32 simde_cvtepi8_epi32
#define _mm512_cvtepu8_epi32 simde_cvtepu8_epi32
#define _mm512_cvtepu16_epi32 simde_cvtepu16_epi32
#define _mm512_cvtph_ps simde_cvtph_ps
#define _mm512_sra_epi32 simde_sra_epi32
#define _mm512_srai_epi32 simde_srai_epi32
#undef _mm512_shuffle_f32x4  // SIMDe leaves the name to the compiler
#define _mm512_shuffle_f32x4 simde_mm512_shuffle_f32x4
#undef _mm512_dpbusd_epi32
#define _mm512_dpbusd_epi32 call_dpbusd
#undef _mm256_dpbusd_epi32
#define _mm256_dpbusd_epi32 call_dpbusd
#define _mm256_dpbusd_avx_epi32 call_dpbusd
