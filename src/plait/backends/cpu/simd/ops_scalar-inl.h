#pragma once

#include <cmath>
#include <cstdint>

#include "plait/dtype/half.h"

// The operations of ops_x86-inl.h in the compiler's vector extensions, which become whatever any machine has
// (SSE2 or NEON at least). Included only by kernels_scalar.cpp, which is built without instruction-set flags
// and may therefore use shared inline code.
namespace plait::backends::cpu::simd {
namespace {

struct ScalarOps {
    static constexpr int kGroups = 1;
    // With 16-byte registers a tile would only spill.
    static constexpr int kStreams = 1;
    static constexpr int kTileRows = 1;
    static constexpr int kTileTokens = 1;
    static constexpr int kPackedTokens = 1;
    using Wide = ScalarOps;
    typedef float F __attribute__((vector_size(32)));
    typedef int32_t I __attribute__((vector_size(32)));
    typedef uint8_t B __attribute__((vector_size(32)));
    using Sum = I;

    template <class T>
    static T read(const void* p) {
        T out;
        __builtin_memcpy(&out, p, sizeof out);
        return out;
    }

    // Floats. min and max give their second operand if either is NaN.
    static F zero() { return F{}; }
    static F set(float v) { return F{v, v, v, v, v, v, v, v}; }
    static F load(const float* p) { return read<F>(p); }
    static void store(float* p, F v) { __builtin_memcpy(p, &v, sizeof v); }
    // 2^112 moves the exponent from one bias to the other, for subnormals too; infinities and NaN are put
    // right by hand.
    static F load_f16(const uint8_t* p) {
        const I half = load_u16(p);
        const I magnitude = (half & 0x7FFF) << 13;
        const I special = (magnitude >= (31 << 23)) & 0x7F800000;
        const I rebiased = bits(from_bits(magnitude) * set(0x1.0p+112f));
        return from_bits(rebiased | special | ((half & 0x8000) << 16));
    }
    static F load_bf16(const uint8_t* p) { return from_bits(load_u16(p) << 16); }
    static float half(const uint8_t* p) { return dtype::f16_to_f32(read<uint16_t>(p)); }
    static F add(F a, F b) { return a + b; }
    static F sub(F a, F b) { return a - b; }
    static F mul(F a, F b) { return a * b; }
    static F div(F a, F b) { return a / b; }
    // Two roundings: a fused multiply-add without the instruction costs a library call.
    static F fma(F a, F b, F c) { return a * b + c; }
    static F min(F a, F b) { return a < b ? a : b; }
    static F max(F a, F b) { return a > b ? a : b; }
    static float sqrt(float v) { return std::sqrt(v); }
    static float hsum(F v) { return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7])); }
    static float hmax(F v) {
        float out = v[0];
        for (int i = 1; i < 8; ++i) out = v[i] > out ? v[i] : out;
        return out;
    }

    // 32-bit integers.
    static I set_i(int32_t v) { return I{v, v, v, v, v, v, v, v}; }
    static I lane0_i(int32_t v) { return I{v, 0, 0, 0, 0, 0, 0, 0}; }
    static I load_u8(const uint8_t* p) {
        typedef uint8_t Bytes __attribute__((vector_size(8)));
        return __builtin_convertvector(read<Bytes>(p), I);
    }
    static I load_i8(const uint8_t* p) {
        typedef int8_t Bytes __attribute__((vector_size(8)));
        return __builtin_convertvector(read<Bytes>(p), I);
    }
    static I add_i(I a, I b) { return a + b; }
    static I sub_i(I a, I b) { return a - b; }
    static I and_i(I a, I b) { return a & b; }
    static I max_i(I a, I b) { return a > b ? a : b; }
    template <int N>
    static I shift_left(I a) {
        return a << N;
    }
    template <int N>
    static I shift_right(I a) {
        return a >> N;
    }
    static I bits(F v) { return reinterpret_cast<I>(v); }
    static F from_bits(I v) { return reinterpret_cast<F>(v); }
    static F to_f(I v) { return __builtin_convertvector(v, F); }
    // |v| < 2^22
    static I round_i(F v) { return __builtin_convertvector((v + 12582912.0f) - 12582912.0f, I); }
    static int32_t hsum_i(I v) {
        int32_t out = 0;
        for (int i = 0; i < 8; ++i) out += v[i];
        return out;
    }
    static int32_t hmax_i(I v) {
        int32_t out = v[0];
        for (int i = 1; i < 8; ++i) out = v[i] > out ? v[i] : out;
        return out;
    }
    static void store_i8(int8_t* p, I a, I b, I c, I d) {
        typedef int8_t Bytes __attribute__((vector_size(8)));
        const Bytes all[4] = {__builtin_convertvector(a, Bytes), __builtin_convertvector(b, Bytes),
                              __builtin_convertvector(c, Bytes), __builtin_convertvector(d, Bytes)};
        __builtin_memcpy(p, all, sizeof all);
    }

    // Bytes and their dot products, the latter as 16-bit lanes of even and of odd bytes: any sum of two
    // products of bytes fits, since activations stay above -128.
    static B load_b(const void* p) { return read<B>(p); }
    static B load_rows(const uint8_t* p, int64_t) { return load_b(p); }
    static F load_halves(const uint8_t* p, int64_t) { return load_f16(p); }
    static void store_rows(float* p, F v) { store(p, v); }
    static B broadcast4(const int8_t* p) { return reinterpret_cast<B>(set_i(read<int32_t>(p))); }
    static B low_nibbles(B v) { return v & uint8_t{15}; }
    static B high_nibbles(B v) { return v >> 4; }
    static B expand_nibbles(const uint8_t* p) {
        typedef uint8_t Half __attribute__((vector_size(16)));
        const Half both = read<Half>(p);
        const Half parts[2] = {both & uint8_t{15}, both >> 4};
        return read<B>(parts);
    }
    static Sum zero_sum() { return I{}; }
    static Sum dot_u7(Sum sum, B u, B s) {
        return dot_s8(sum, u, s);
    }  // below 128 the sign makes no difference
    static I finish(Sum sum) { return sum; }
    static I dot_s8(I sum, B w, B s) {
        typedef int16_t Words __attribute__((vector_size(32)));
        const auto even = [](B v) { return (reinterpret_cast<Words>(v) << 8) >> 8; };
        const auto odd = [](B v) { return reinterpret_cast<Words>(v) >> 8; };
        const I pairs = reinterpret_cast<I>(even(w) * even(s) + odd(w) * odd(s));
        return sum + ((pairs << 16) >> 16) + (pairs >> 16);
    }
    static I start_s8(int32_t) { return I{}; }
    static I start_s8_lane0(int32_t) { return I{}; }

  private:
    static I load_u16(const uint8_t* p) {
        typedef uint16_t Words __attribute__((vector_size(16)));
        return __builtin_convertvector(read<Words>(p), I);
    }
};

}  // namespace
}  // namespace plait::backends::cpu::simd
