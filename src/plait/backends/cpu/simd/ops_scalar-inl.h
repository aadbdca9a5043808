#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "plait/dtype/half.h"

// The operations of ops_x86-inl.h one element at a time: a "vector" is 8 variables, 32 bytes are 8 words
// of 4. Written out rather than looped over, so that the compiler sees variables and not arrays in memory.
// Included only by kernels_scalar.cpp, which is built without instruction-set flags and may therefore use
// shared inline code.
namespace plait::backends::cpu::simd {
namespace {

struct ScalarOps {
    static constexpr int kGroups = 1;
    // 8 rows are already more than the registers hold; tiles would only spill.
    static constexpr int kStreams = 1;
    static constexpr int kTileRows = 1;
    static constexpr int kTileTokens = 1;
    static constexpr int kPanelTokens = 1;
    static constexpr int kPanelVectors = 1;
    static constexpr int kLanes = 8;
    static constexpr int kLaneRows = 1;
    using Wide = ScalarOps;
    using Lanes = ScalarOps;
    struct F {
        float lane[8];
    };
    struct I {
        int32_t lane[8];
    };
    struct B {
        uint32_t word[8];
    };
    using Sum = I;

    // {fn(0), fn(1), ... fn(7)}
    template <class Vector, class Fn>
    static Vector each(Fn fn) {
        return {{fn(0), fn(1), fn(2), fn(3), fn(4), fn(5), fn(6), fn(7)}};
    }
    template <class Fn>
    static F floats(Fn fn) {
        return each<F>(fn);
    }
    template <class Fn>
    static I ints(Fn fn) {
        return each<I>(fn);
    }
    template <class Fn>
    static B words(Fn fn) {
        return each<B>(fn);
    }
    template <class T>
    static T read(const void* p) {
        T out;
        __builtin_memcpy(&out, p, sizeof out);
        return out;
    }

    // Floats. min and max give their second operand if either is NaN.
    static F zero() { return set(0.0f); }
    static F set(float v) {
        return floats([&](int) { return v; });
    }
    static F load(const float* p) {
        return floats([&](int i) { return p[i]; });
    }
    static void store(float* p, F v) {
        for (int i = 0; i < 8; ++i) p[i] = v.lane[i];
    }
    static F load_f16(const uint8_t* p) {
        return floats([&](int i) { return half(p + 2 * i); });
    }
    static F load_bf16(const uint8_t* p) {
        return floats([&](int i) { return dtype::bf16_to_f32(read<uint16_t>(p + 2 * i)); });
    }
    static float half(const uint8_t* p) { return dtype::f16_to_f32(read<uint16_t>(p)); }
    static F held(F v) { return v; }
    static F add(F a, F b) {
        return floats([&](int i) { return a.lane[i] + b.lane[i]; });
    }
    static F sub(F a, F b) {
        return floats([&](int i) { return a.lane[i] - b.lane[i]; });
    }
    static F mul(F a, F b) {
        return floats([&](int i) { return a.lane[i] * b.lane[i]; });
    }
    // Four lanes of the first, four of the second.
    static F halves(float first, float second) {
        return floats([&](int i) { return i < 4 ? first : second; });
    }
    static F div(F a, F b) {
        return floats([&](int i) { return a.lane[i] / b.lane[i]; });
    }
    // Two roundings: a fused multiply-add without the instruction costs a library call.
    static F fma(F a, F b, F c) { return add(mul(a, b), c); }
    static F min(F a, F b) {
        return floats([&](int i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; });
    }
    static F max(F a, F b) {
        return floats([&](int i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
    }
    static float sqrt(float v) { return std::sqrt(v); }
    static float hsum(F v) {
        const float* l = v.lane;
        return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
    }
    static float hmax(F v) {
        float out = v.lane[0];
        for (const float lane : v.lane) out = lane > out ? lane : out;
        return out;
    }

    static void transpose(F (&v)[8]) {
        for (int row = 0; row < 8; ++row) {
            for (int i = 0; i < row; ++i) {
                const float corner = v[row].lane[i];
                v[row].lane[i] = v[i].lane[row];
                v[i].lane[row] = corner;
            }
        }
    }

    // 32-bit integers.
    static I set_i(int32_t v) {
        return ints([&](int) { return v; });
    }
    static I lane0_i(int32_t v) {
        return ints([&](int i) { return i == 0 ? v : 0; });
    }
    static I load_u8(const uint8_t* p) {
        return ints([&](int i) { return int32_t{p[i]}; });
    }
    static I load_i8(const uint8_t* p) {
        return ints([&](int i) { return int32_t{static_cast<int8_t>(p[i])}; });
    }
    static I add_i(I a, I b) {
        return ints([&](int i) { return a.lane[i] + b.lane[i]; });
    }
    static I sub_i(I a, I b) {
        return ints([&](int i) { return a.lane[i] - b.lane[i]; });
    }
    static I and_i(I a, I b) {
        return ints([&](int i) { return a.lane[i] & b.lane[i]; });
    }
    static I or_i(I a, I b) {
        return ints([&](int i) { return a.lane[i] | b.lane[i]; });
    }
    static I xor_i(I a, I b) {
        return ints([&](int i) { return a.lane[i] ^ b.lane[i]; });
    }
    static I max_i(I a, I b) {
        return ints([&](int i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
    }
    template <int N>
    static I shift_left(I a) {
        return ints([&](int i) { return a.lane[i] << N; });
    }
    template <int N>
    static I shift_right(I a) {
        return ints([&](int i) { return a.lane[i] >> N; });
    }
    static I shift_right_by(I a, int n) {
        return ints([&](int i) { return a.lane[i] >> n; });
    }
    static I lookup_i(const int8_t* table, I codes) {
        return ints([&](int i) { return int32_t{table[codes.lane[i]]}; });
    }
    static I expand_bits_i(uint8_t bits, int32_t value) {
        return ints([&](int i) { return bits >> i & 1 ? value : 0; });
    }
    static I bits(F v) {
        return ints([&](int i) { return std::bit_cast<int32_t>(v.lane[i]); });
    }
    static F from_bits(I v) {
        return floats([&](int i) { return std::bit_cast<float>(v.lane[i]); });
    }
    static F to_f(I v) {
        return floats([&](int i) { return static_cast<float>(v.lane[i]); });
    }
    // |v| < 2^22
    static I round_i(F v) {
        return ints([&](int i) { return static_cast<int32_t>((v.lane[i] + 12582912.0f) - 12582912.0f); });
    }
    static int32_t hsum_i(I v) {
        int32_t out = 0;
        for (const int32_t lane : v.lane) out += lane;
        return out;
    }
    static int32_t hmax_i(I v) {
        int32_t out = v.lane[0];
        for (const int32_t lane : v.lane) out = lane > out ? lane : out;
        return out;
    }
    static void store_i8(int8_t* p, I a, I b, I c, I d) {
        for (int i = 0; i < 8; ++i) {
            p[i] = static_cast<int8_t>(a.lane[i]);
            p[8 + i] = static_cast<int8_t>(b.lane[i]);
            p[16 + i] = static_cast<int8_t>(c.lane[i]);
            p[24 + i] = static_cast<int8_t>(d.lane[i]);
        }
    }

    // Bytes and their dot products. Where in a word a byte sits depends on the machine, but not on the
    // operand.
    static B load_b(const void* p) { return read<B>(p); }
    static B load_rows(const uint8_t* p, int64_t) { return load_b(p); }
    static F load_halves(const uint8_t* p, int64_t) { return load_f16(p); }
    static I load_u8_rows(const uint8_t* p, int64_t) { return load_u8(p); }
    static I load_i8_rows(const uint8_t* p, int64_t) { return load_i8(p); }
    static B load_vector(const uint8_t* p) { return load_b(p); }
    static void store_vector(uint8_t* p, B v) { __builtin_memcpy(p, &v, sizeof v); }
    static F load_rows_f(const float* p) { return load(p); }
    static void store_rows(float* p, F v) { store(p, v); }
    static B broadcast4(const int8_t* p) {
        const auto four = read<uint32_t>(p);
        return words([&](int) { return four; });
    }
    static B low_nibbles(B v) {
        return words([&](int i) { return v.word[i] & kLowNibbles; });
    }
    static B high_nibbles(B v) {
        return words([&](int i) { return v.word[i] >> 4 & kLowNibbles; });
    }
    static B expand_nibbles(const uint8_t* p) {
        return words([&](int i) { return read<uint32_t>(p + 4 * (i % 4)) >> (i < 4 ? 0 : 4) & kLowNibbles; });
    }
    static B set_b(int value) {
        return words([&](int) { return static_cast<uint32_t>(value) * 0x01010101u; });
    }
    static B or_b(B a, B b) {
        return words([&](int i) { return a.word[i] | b.word[i]; });
    }
    static B and_b(B a, B b) {
        return words([&](int i) { return a.word[i] & b.word[i]; });
    }
    static B sub_b(B a, B b) {
        return bytes([&](int i) { return byte(a, i) - byte(b, i); });
    }
    template <int N>
    static B shift_left_b(B v) {
        return words([&](int i) { return v.word[i] << N; });
    }
    template <int N>
    static B shift_right_b(B v) {
        return words([&](int i) { return v.word[i] >> N; });
    }
    static B field_b(B v, int shift, int mask) {
        return words([&](int i) { return v.word[i] >> shift & static_cast<uint32_t>(mask) * 0x01010101u; });
    }
    static B lookup_b(const int8_t* table, B codes) {
        return bytes([&](int i) { return table[byte(codes, i)]; });
    }
    static B expand_bits_b(const uint8_t* bits, int value) {
        return bytes([&](int i) { return bits[i / 8] >> (i % 8) & 1 ? value : 0; });
    }
    static constexpr int kSignedBias = 0;
    static constexpr int dots_per_sum(int) { return 8; }
    static Sum zero_sum() { return set_i(0); }
    // Below 128 the sign makes no difference.
    static Sum dot_u7(Sum sum, B u, B s) { return dot_s8(sum, u, s); }
    static I finish(Sum sum) { return sum; }
    static I dot_s8(I sum, B w, B s) {
        return ints([&](int i) {
            return sum.lane[i] + product<0>(w.word[i], s.word[i]) + product<8>(w.word[i], s.word[i]) +
                   product<16>(w.word[i], s.word[i]) + product<24>(w.word[i], s.word[i]);
        });
    }
    static I dot_s8_lanes(B w, B s) { return dot_s8(set_i(0), w, s); }

  private:
    // The 32 bytes in memory's order.
    static uint8_t byte(B v, int i) { return reinterpret_cast<const uint8_t*>(v.word)[i]; }
    template <class Fn>
    static B bytes(Fn fn) {
        uint8_t out[32];
        for (int i = 0; i < 32; ++i) out[i] = static_cast<uint8_t>(fn(i));
        return read<B>(out);
    }

    static constexpr uint32_t kLowNibbles = 0x0F0F0F0F;

    // Of the signed bytes that begin at bit `Bit`.
    template <int Bit>
    static int32_t product(uint32_t a, uint32_t b) {
        return static_cast<int8_t>(a >> Bit) * static_cast<int8_t>(b >> Bit);
    }
};

}  // namespace
}  // namespace plait::backends::cpu::simd
