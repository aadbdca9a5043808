#pragma once

#include <arm_neon.h>

#include <cstdint>

// The operations of ops_x86-inl.h in pairs of 128-bit vectors, for 64-bit Arm. As there, an instruction set
// is this struct plus its byte dot products (kernels_<isa>.cpp).
namespace plait::backends::cpu::simd {
namespace {

struct NeonOps {
    static constexpr int kGroups = 1;
    // Tile shapes, for 32 registers of half a vector each.
    static constexpr int kStreams = 4;
    static constexpr int kTileRows = 2;
    static constexpr int kTileTokens = 4;
    static constexpr int kPanelTokens = 4;
    static constexpr int kPanelVectors = 1;
    static constexpr int kLanes = 8;
    static constexpr int kLaneRows = 6;
    using Lanes = NeonOps;
    struct F {
        float32x4_t low, high;
    };
    struct I {
        int32x4_t low, high;
    };
    struct B {
        uint8x16_t low, high;
    };

    // Floats. min and max give their second operand if either is NaN, which takes a comparison: the
    // instructions of these names do not.
    static F zero() { return set(0.0f); }
    static F set(float v) { return {vdupq_n_f32(v), vdupq_n_f32(v)}; }
    static F load(const float* p) { return {vld1q_f32(p), vld1q_f32(p + 4)}; }
    static F held(F v) { return v; }
    static void store(float* p, F v) {
        vst1q_f32(p, v.low);
        vst1q_f32(p + 4, v.high);
    }
    static F load_f16(const uint8_t* p) {
        const float16x8_t v = vreinterpretq_f16_u8(vld1q_u8(p));
        return {vcvt_f32_f16(vget_low_f16(v)), vcvt_high_f32_f16(v)};
    }
    static F load_bf16(const uint8_t* p) {
        const uint16x8_t v = vreinterpretq_u16_u8(vld1q_u8(p));
        return {vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(v), 16)),
                vreinterpretq_f32_u32(vshll_high_n_u16(v, 16))};
    }
    static float half(const uint8_t* p) {
        __fp16 value;
        __builtin_memcpy(&value, p, sizeof value);
        return value;
    }
    static F add(F a, F b) { return {vaddq_f32(a.low, b.low), vaddq_f32(a.high, b.high)}; }
    static F sub(F a, F b) { return {vsubq_f32(a.low, b.low), vsubq_f32(a.high, b.high)}; }
    static F mul(F a, F b) { return {vmulq_f32(a.low, b.low), vmulq_f32(a.high, b.high)}; }
    static F halves(float first, float second) { return {vdupq_n_f32(first), vdupq_n_f32(second)}; }
    static F div(F a, F b) { return {vdivq_f32(a.low, b.low), vdivq_f32(a.high, b.high)}; }
    static F fma(F a, F b, F c) {
        return {vfmaq_f32(c.low, a.low, b.low), vfmaq_f32(c.high, a.high, b.high)};
    }
    static F min(F a, F b) {
        return {vbslq_f32(vcltq_f32(a.low, b.low), a.low, b.low),
                vbslq_f32(vcltq_f32(a.high, b.high), a.high, b.high)};
    }
    static F max(F a, F b) {
        return {vbslq_f32(vcgtq_f32(a.low, b.low), a.low, b.low),
                vbslq_f32(vcgtq_f32(a.high, b.high), a.high, b.high)};
    }
    static float sqrt(float v) { return vget_lane_f32(vsqrt_f32(vdup_n_f32(v)), 0); }
    static float hsum(F v) {
        const float32x4_t four = vaddq_f32(v.low, v.high);
        const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
        return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
    }
    // Of lanes without NaN.
    static float hmax(F v) { return vmaxvq_f32(vmaxq_f32(v.low, v.high)); }

    static void transpose(F (&v)[8]) {
#pragma GCC unroll 2
        for (int i = 0; i < 8; i += 4) {
            transpose4(v[i].low, v[i + 1].low, v[i + 2].low, v[i + 3].low);
            transpose4(v[i].high, v[i + 1].high, v[i + 2].high, v[i + 3].high);
        }
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
            const float32x4_t corner = v[i].high;
            v[i].high = v[i + 4].low;
            v[i + 4].low = corner;
        }
    }

    // 32-bit integers.
    static I set_i(int32_t v) { return {vdupq_n_s32(v), vdupq_n_s32(v)}; }
    static I lane0_i(int32_t v) { return {vsetq_lane_s32(v, vdupq_n_s32(0), 0), vdupq_n_s32(0)}; }
    static I load_u8(const uint8_t* p) {
        const uint16x8_t v = vmovl_u8(vld1_u8(p));
        return {vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(v))), vreinterpretq_s32_u32(vmovl_high_u16(v))};
    }
    static I load_i8(const uint8_t* p) {
        const int16x8_t v = vmovl_s8(vreinterpret_s8_u8(vld1_u8(p)));
        return {vmovl_s16(vget_low_s16(v)), vmovl_high_s16(v)};
    }
    static I add_i(I a, I b) { return {vaddq_s32(a.low, b.low), vaddq_s32(a.high, b.high)}; }
    static I sub_i(I a, I b) { return {vsubq_s32(a.low, b.low), vsubq_s32(a.high, b.high)}; }
    static I and_i(I a, I b) { return {vandq_s32(a.low, b.low), vandq_s32(a.high, b.high)}; }
    static I or_i(I a, I b) { return {vorrq_s32(a.low, b.low), vorrq_s32(a.high, b.high)}; }
    static I xor_i(I a, I b) { return {veorq_s32(a.low, b.low), veorq_s32(a.high, b.high)}; }
    static I max_i(I a, I b) { return {vmaxq_s32(a.low, b.low), vmaxq_s32(a.high, b.high)}; }
    template <int N>
    static I shift_left(I a) {
        return {vshlq_n_s32(a.low, N), vshlq_n_s32(a.high, N)};
    }
    template <int N>
    static I shift_right(I a) {
        return {vshrq_n_s32(a.low, N), vshrq_n_s32(a.high, N)};
    }
    // There are only shifts to the left by a variable, of either sign.
    static I shift_right_by(I a, int n) {
        const int32x4_t count = vdupq_n_s32(-n);
        return {vshlq_s32(a.low, count), vshlq_s32(a.high, count)};
    }
    // A table lookup gives 0 for indices from 16 on: the lowest byte of each lane is looked up, and shifts
    // carry its sign.
    static I lookup_i(const int8_t* table, I codes) {
        const int8x16_t values = vld1q_s8(table);
        const auto look_up = [&](int32x4_t v) {
            const int32x4_t index = vorrq_s32(v, vdupq_n_s32(static_cast<int32_t>(0xFFFFFF00)));
            const int8x16_t bytes = vqtbl1q_s8(values, vreinterpretq_u8_s32(index));
            return vshrq_n_s32(vshlq_n_s32(vreinterpretq_s32_s8(bytes), 24), 24);
        };
        return {look_up(codes.low), look_up(codes.high)};
    }
    static I expand_bits_i(uint8_t bits, int32_t value) {
        constexpr int32_t kBits[] = {1, 2, 4, 8, 16, 32, 64, 128};
        const auto where_set = [&](const int32_t* bit) {
            const uint32x4_t set = vtstq_s32(vdupq_n_s32(bits), vld1q_s32(bit));
            return vandq_s32(vreinterpretq_s32_u32(set), vdupq_n_s32(value));
        };
        return {where_set(kBits), where_set(kBits + 4)};
    }
    static I bits(F v) { return {vreinterpretq_s32_f32(v.low), vreinterpretq_s32_f32(v.high)}; }
    static F from_bits(I v) { return {vreinterpretq_f32_s32(v.low), vreinterpretq_f32_s32(v.high)}; }
    static F to_f(I v) { return {vcvtq_f32_s32(v.low), vcvtq_f32_s32(v.high)}; }
    static I round_i(F v) { return {vcvtnq_s32_f32(v.low), vcvtnq_s32_f32(v.high)}; }
    static int32_t hsum_i(I v) { return vaddvq_s32(vaddq_s32(v.low, v.high)); }
    static int32_t hmax_i(I v) { return vmaxvq_s32(vmaxq_s32(v.low, v.high)); }
    static void store_i8(int8_t* p, I a, I b, I c, I d) {
        const auto eight = [](I v) { return vmovn_s16(vcombine_s16(vmovn_s32(v.low), vmovn_s32(v.high))); };
        vst1_s8(p, eight(a));
        vst1_s8(p + 8, eight(b));
        vst1_s8(p + 16, eight(c));
        vst1_s8(p + 24, eight(d));
    }

    // Bytes.
    static B load_b(const void* p) {
        const auto* bytes = static_cast<const uint8_t*>(p);
        return {vld1q_u8(bytes), vld1q_u8(bytes + 16)};
    }
    static B load_rows(const uint8_t* p, int64_t) { return load_b(p); }
    static F load_halves(const uint8_t* p, int64_t) { return load_f16(p); }
    static I load_u8_rows(const uint8_t* p, int64_t) { return load_u8(p); }
    static I load_i8_rows(const uint8_t* p, int64_t) { return load_i8(p); }
    static B load_vector(const uint8_t* p) { return load_b(p); }
    static void store_vector(uint8_t* p, B v) {
        vst1q_u8(p, v.low);
        vst1q_u8(p + 16, v.high);
    }
    static F load_rows_f(const float* p) { return load(p); }
    static void store_rows(float* p, F v) { store(p, v); }
    static B broadcast4(const int8_t* p) {
        uint32_t four;
        __builtin_memcpy(&four, p, sizeof four);
        const uint8x16_t v = vreinterpretq_u8_u32(vdupq_n_u32(four));
        return {v, v};
    }
    static B low_nibbles(B v) { return and_b(v, set_b(15)); }
    static B high_nibbles(B v) { return shift_right_b<4>(v); }
    // 16 bytes to the 32 numbers of a Q4 block in order.
    static B expand_nibbles(const uint8_t* p) {
        const uint8x16_t both = vld1q_u8(p);
        return {vandq_u8(both, vdupq_n_u8(15)), vshrq_n_u8(both, 4)};
    }

    static B set_b(int value) {
        const uint8x16_t v = vdupq_n_u8(static_cast<uint8_t>(value));
        return {v, v};
    }
    static B or_b(B a, B b) { return {vorrq_u8(a.low, b.low), vorrq_u8(a.high, b.high)}; }
    static B and_b(B a, B b) { return {vandq_u8(a.low, b.low), vandq_u8(a.high, b.high)}; }
    static B sub_b(B a, B b) { return {vsubq_u8(a.low, b.low), vsubq_u8(a.high, b.high)}; }
    template <int N>
    static B shift_left_b(B v) {
        return {vshlq_n_u8(v.low, N), vshlq_n_u8(v.high, N)};
    }
    template <int N>
    static B shift_right_b(B v) {
        return {vshrq_n_u8(v.low, N), vshrq_n_u8(v.high, N)};
    }
    static B field_b(B v, int shift, int mask) {
        const int8x16_t count = vdupq_n_s8(static_cast<int8_t>(-shift));
        return and_b({vshlq_u8(v.low, count), vshlq_u8(v.high, count)}, set_b(mask));
    }
    static B lookup_b(const int8_t* table, B codes) {
        const uint8x16_t values = vreinterpretq_u8_s8(vld1q_s8(table));
        return {vqtbl1q_u8(values, codes.low), vqtbl1q_u8(values, codes.high)};
    }
    static B expand_bits_b(const uint8_t* bits, int value) {
        constexpr uint8_t kPlaces[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
        constexpr uint8_t kBits[] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
        uint32_t four;
        __builtin_memcpy(&four, bits, sizeof four);
        const uint8x16_t bytes = vreinterpretq_u8_u32(vdupq_n_u32(four));
        const uint8x16_t places = vld1q_u8(kPlaces), bit = vld1q_u8(kBits);
        const auto where_set = [&](uint8x16_t at) {
            return vandq_u8(vtstq_u8(vqtbl1q_u8(bytes, at), bit), vdupq_n_u8(static_cast<uint8_t>(value)));
        };
        return {where_set(places), where_set(vaddq_u8(places, vdupq_n_u8(2)))};
    }

    // The bytes as numbers with a sign.
    static int8x16_t low_s8(B v) { return vreinterpretq_s8_u8(v.low); }
    static int8x16_t high_s8(B v) { return vreinterpretq_s8_u8(v.high); }

  private:
    static void transpose4(float32x4_t& a, float32x4_t& b, float32x4_t& c, float32x4_t& d) {
        const float64x2_t first = vreinterpretq_f64_f32(vtrn1q_f32(a, b));
        const float64x2_t second = vreinterpretq_f64_f32(vtrn2q_f32(a, b));
        const float64x2_t third = vreinterpretq_f64_f32(vtrn1q_f32(c, d));
        const float64x2_t fourth = vreinterpretq_f64_f32(vtrn2q_f32(c, d));
        a = vreinterpretq_f32_f64(vtrn1q_f64(first, third));
        b = vreinterpretq_f32_f64(vtrn1q_f64(second, fourth));
        c = vreinterpretq_f32_f64(vtrn2q_f64(first, third));
        d = vreinterpretq_f32_f64(vtrn2q_f64(second, fourth));
    }
};

}  // namespace
}  // namespace plait::backends::cpu::simd
