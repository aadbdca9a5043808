#pragma once

#include <riscv_vector.h>

#include <cstdint>

// The operations of ops_x86-inl.h in RISC-V's vectors, built for one length (-mrvv-vector-bits): 8 lanes are
// one register of 256 bits or two of 128. Every operation is the same in all parts; where lanes differ, a
// part begins at lane kPartLanes * part.
namespace plait::backends::cpu::simd {
namespace {

struct RvvOps {
    static constexpr int kBits = __riscv_v_fixed_vlen;
    static_assert(kBits == 128 || kBits == 256);
    static constexpr bool kOne = kBits == 256;  // a vector is one register
    static constexpr int kGroups = 1;
    // Tile shapes, for 32 registers.
    static constexpr int kStreams = 4;
    static constexpr int kTileRows = kOne ? 4 : 2;
    static constexpr int kTileTokens = 4;
    static constexpr int kPanelTokens = kOne ? 4 : 2;
    static constexpr int kPanelVectors = 1;
    static constexpr int kLanes = 8;
    static constexpr int kLaneRows = kOne ? 12 : 6;
    using Wide = RvvOps;
    using Lanes = RvvOps;

    using VF = vfloat32m1_t __attribute__((riscv_rvv_vector_bits(__riscv_v_fixed_vlen)));
    using VI = vint32m1_t __attribute__((riscv_rvv_vector_bits(__riscv_v_fixed_vlen)));
    using VB = vuint8m1_t __attribute__((riscv_rvv_vector_bits(__riscv_v_fixed_vlen)));
    using VW = vint16m2_t __attribute__((riscv_rvv_vector_bits(__riscv_v_fixed_vlen * 2)));
    static constexpr int kParts = kOne ? 1 : 2;
    static constexpr int kPartLanes = 8 / kParts, kPartBytes = 32 / kParts;
    struct F {
        VF part[kParts];
    };
    struct I {
        VI part[kParts];
    };
    struct B {
        VB part[kParts];
    };

    // {fn(0)}, or {fn(0), fn(1)}
    template <class Vector, class Fn>
    [[gnu::always_inline]] static Vector each(const Fn& fn) {
        if constexpr (kOne)
            return {{fn(0)}};
        else
            return {{fn(0), fn(1)}};
    }

    // Floats. min and max give their second operand if either is NaN, which takes a comparison: the
    // instructions of these names do not.
    static F zero() { return set(0.0f); }
    static F set(float v) {
        return each<F>([&](int) -> VF { return __riscv_vfmv_v_f_f32m1(v, kPartLanes); });
    }
    static F load(const float* p) {
        return each<F>([&](int i) -> VF { return __riscv_vle32_v_f32m1(p + i * kPartLanes, kPartLanes); });
    }
    static F held(F v) { return v; }
    static void store(float* p, F v) {
        for (int i = 0; i < kParts; ++i) __riscv_vse32_v_f32m1(p + i * kPartLanes, v.part[i], kPartLanes);
    }
    // 2^112 moves the exponent from one bias to the other, for subnormals too; infinities and NaN are put
    // right by hand.
    static F load_f16(const uint8_t* p) {
        return each<F>([&](int i) -> VF {
            const vuint32m1_t wide = load_u16(p + 2 * i * kPartLanes);
            const vuint32m1_t sign =
                __riscv_vsll_vx_u32m1(__riscv_vand_vx_u32m1(wide, 0x8000, kPartLanes), 16, kPartLanes);
            const vuint32m1_t magnitude =
                __riscv_vsll_vx_u32m1(__riscv_vand_vx_u32m1(wide, 0x7FFF, kPartLanes), 13, kPartLanes);
            const vbool32_t special = __riscv_vmsgtu_vx_u32m1_b32(magnitude, (31 << 23) - 1, kPartLanes);
            const vuint32m1_t rebiased = __riscv_vreinterpret_v_f32m1_u32m1(__riscv_vfmul_vf_f32m1(
                __riscv_vreinterpret_v_u32m1_f32m1(magnitude), 0x1.0p+112f, kPartLanes));
            const vuint32m1_t value = __riscv_vmerge_vvm_u32m1(
                rebiased, __riscv_vor_vx_u32m1(rebiased, 0x7F800000, kPartLanes), special, kPartLanes);
            return __riscv_vreinterpret_v_u32m1_f32m1(__riscv_vor_vv_u32m1(value, sign, kPartLanes));
        });
    }
    static F load_bf16(const uint8_t* p) {
        return each<F>([&](int i) -> VF {
            const vuint32m1_t wide = load_u16(p + 2 * i * kPartLanes);
            return __riscv_vreinterpret_v_u32m1_f32m1(__riscv_vsll_vx_u32m1(wide, 16, kPartLanes));
        });
    }
    static float half(const uint8_t* p) {
        uint16_t half;
        __builtin_memcpy(&half, p, sizeof half);
        const uint32_t magnitude = (half & 0x7FFFu) << 13;
        uint32_t bits = bits_of(float_of(magnitude) * 0x1.0p+112f);
        if ((half & 0x7C00u) == 0x7C00u) bits |= 0x7F800000u;
        return float_of(bits | (half & 0x8000u) << 16);
    }
    static F add(F a, F b) {
        return each<F>([&](int i) -> VF { return __riscv_vfadd_vv_f32m1(a.part[i], b.part[i], kPartLanes); });
    }
    static F sub(F a, F b) {
        return each<F>([&](int i) -> VF { return __riscv_vfsub_vv_f32m1(a.part[i], b.part[i], kPartLanes); });
    }
    static F mul(F a, F b) {
        return each<F>([&](int i) -> VF { return __riscv_vfmul_vv_f32m1(a.part[i], b.part[i], kPartLanes); });
    }
    static F halves(float first, float second) {
        return each<F>([&](int i) -> VF {
            const vbool32_t in_first = __riscv_vmsltu_vx_u32m1_b32(places(i), 4, kPartLanes);
            return __riscv_vfmerge_vfm_f32m1(__riscv_vfmv_v_f_f32m1(second, kPartLanes), first, in_first,
                                             kPartLanes);
        });
    }
    static F div(F a, F b) {
        return each<F>([&](int i) -> VF { return __riscv_vfdiv_vv_f32m1(a.part[i], b.part[i], kPartLanes); });
    }
    static F fma(F a, F b, F c) {
        return each<F>([&](int i) -> VF {
            return __riscv_vfmacc_vv_f32m1(c.part[i], a.part[i], b.part[i], kPartLanes);
        });
    }
    static F min(F a, F b) {
        return each<F>([&](int i) -> VF {
            const vbool32_t less = __riscv_vmflt_vv_f32m1_b32(a.part[i], b.part[i], kPartLanes);
            return __riscv_vmerge_vvm_f32m1(b.part[i], a.part[i], less, kPartLanes);
        });
    }
    static F max(F a, F b) {
        return each<F>([&](int i) -> VF {
            const vbool32_t more = __riscv_vmfgt_vv_f32m1_b32(a.part[i], b.part[i], kPartLanes);
            return __riscv_vmerge_vvm_f32m1(b.part[i], a.part[i], more, kPartLanes);
        });
    }
    static float sqrt(float v) {
        return __riscv_vfmv_f_s_f32m1_f32(__riscv_vfsqrt_v_f32m1(__riscv_vfmv_v_f_f32m1(v, 1), 1));
    }
    static float hsum(F v) {
        float l[8];
        store(l, v);
        return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
    }
    // Of lanes without NaN.
    static float hmax(F v) {
        vfloat32m1_t most = v.part[0];
        for (int i = 0; i < kParts; ++i) most = __riscv_vfredmax_vs_f32m1_f32m1(v.part[i], most, kPartLanes);
        return __riscv_vfmv_f_s_f32m1_f32(most);
    }

    static void transpose(F (&v)[8]) {
        float rows[8][8];
        for (int i = 0; i < 8; ++i) store(rows[i], v[i]);
        for (int r = 0; r < 8; ++r)
            v[r] = each<F>([&](int i) -> VF {
                return __riscv_vlse32_v_f32m1(&rows[i * kPartLanes][r], sizeof rows[0], kPartLanes);
            });
    }

    // 32-bit integers.
    static I set_i(int32_t v) {
        return each<I>([&](int) -> VI { return __riscv_vmv_v_x_i32m1(v, kPartLanes); });
    }
    static I lane0_i(int32_t v) {
        I out = set_i(0);
        out.part[0] = __riscv_vmv_s_x_i32m1_tu(out.part[0], v, kPartLanes);
        return out;
    }
    static I load_u8(const uint8_t* p) {
        return each<I>([&](int i) -> VI {
            const vuint8mf4_t bytes = __riscv_vle8_v_u8mf4(p + i * kPartLanes, kPartLanes);
            return __riscv_vreinterpret_v_u32m1_i32m1(__riscv_vzext_vf4_u32m1(bytes, kPartLanes));
        });
    }
    static I load_i8(const uint8_t* p) {
        const auto* bytes = reinterpret_cast<const int8_t*>(p);
        return each<I>([&](int i) -> VI {
            return __riscv_vsext_vf4_i32m1(__riscv_vle8_v_i8mf4(bytes + i * kPartLanes, kPartLanes),
                                           kPartLanes);
        });
    }
    static I add_i(I a, I b) {
        return each<I>([&](int i) -> VI { return __riscv_vadd_vv_i32m1(a.part[i], b.part[i], kPartLanes); });
    }
    static I sub_i(I a, I b) {
        return each<I>([&](int i) -> VI { return __riscv_vsub_vv_i32m1(a.part[i], b.part[i], kPartLanes); });
    }
    static I and_i(I a, I b) {
        return each<I>([&](int i) -> VI { return __riscv_vand_vv_i32m1(a.part[i], b.part[i], kPartLanes); });
    }
    static I or_i(I a, I b) {
        return each<I>([&](int i) -> VI { return __riscv_vor_vv_i32m1(a.part[i], b.part[i], kPartLanes); });
    }
    static I xor_i(I a, I b) {
        return each<I>([&](int i) -> VI { return __riscv_vxor_vv_i32m1(a.part[i], b.part[i], kPartLanes); });
    }
    static I max_i(I a, I b) {
        return each<I>([&](int i) -> VI { return __riscv_vmax_vv_i32m1(a.part[i], b.part[i], kPartLanes); });
    }
    template <int N>
    static I shift_left(I a) {
        return each<I>([&](int i) -> VI { return __riscv_vsll_vx_i32m1(a.part[i], N, kPartLanes); });
    }
    template <int N>
    static I shift_right(I a) {
        return each<I>([&](int i) -> VI { return __riscv_vsra_vx_i32m1(a.part[i], N, kPartLanes); });
    }
    static I shift_right_by(I a, int n) {
        const auto count = static_cast<size_t>(n);
        return each<I>([&](int i) -> VI { return __riscv_vsra_vx_i32m1(a.part[i], count, kPartLanes); });
    }
    // A table lookup by the lowest byte of each lane; the others are looked up as well, and shifted out.
    static I lookup_i(const int8_t* table, I codes) {
        const B bytes = lookup_b(
            table, each<B>([&](int i) -> VB {
                return __riscv_vreinterpret_v_u32m1_u8m1(__riscv_vreinterpret_v_i32m1_u32m1(codes.part[i]));
            }));
        return shift_right<24>(shift_left<24>(each<I>([&](int i) -> VI {
            return __riscv_vreinterpret_v_u32m1_i32m1(__riscv_vreinterpret_v_u8m1_u32m1(bytes.part[i]));
        })));
    }
    static I expand_bits_i(uint8_t bits, int32_t value) {
        return each<I>([&](int i) -> VI {
            const vuint32m1_t bit =
                __riscv_vsll_vv_u32m1(__riscv_vmv_v_x_u32m1(1, kPartLanes), places(i), kPartLanes);
            const vbool32_t set =
                __riscv_vmsne_vx_u32m1_b32(__riscv_vand_vx_u32m1(bit, bits, kPartLanes), 0, kPartLanes);
            return __riscv_vmerge_vxm_i32m1(__riscv_vmv_v_x_i32m1(0, kPartLanes), value, set, kPartLanes);
        });
    }
    static I bits(F v) {
        return each<I>([&](int i) -> VI { return __riscv_vreinterpret_v_f32m1_i32m1(v.part[i]); });
    }
    static F from_bits(I v) {
        return each<F>([&](int i) -> VF { return __riscv_vreinterpret_v_i32m1_f32m1(v.part[i]); });
    }
    static F to_f(I v) {
        return each<F>([&](int i) -> VF { return __riscv_vfcvt_f_x_v_f32m1(v.part[i], kPartLanes); });
    }
    static I round_i(F v) {
        return each<I>([&](int i) -> VI { return __riscv_vfcvt_x_f_v_i32m1(v.part[i], kPartLanes); });
    }
    static int32_t hsum_i(I v) {
        vint32m1_t sum = __riscv_vmv_v_x_i32m1(0, kPartLanes);
        for (int i = 0; i < kParts; ++i) sum = __riscv_vredsum_vs_i32m1_i32m1(v.part[i], sum, kPartLanes);
        return __riscv_vmv_x_s_i32m1_i32(sum);
    }
    static int32_t hmax_i(I v) {
        vint32m1_t most = v.part[0];
        for (int i = 0; i < kParts; ++i) most = __riscv_vredmax_vs_i32m1_i32m1(v.part[i], most, kPartLanes);
        return __riscv_vmv_x_s_i32m1_i32(most);
    }
    static void store_i8(int8_t* p, I a, I b, I c, I d) {
        const auto eight = [](int8_t* to, I v) {
            for (int i = 0; i < kParts; ++i) {
                const vint16mf2_t words = __riscv_vncvt_x_x_w_i16mf2(v.part[i], kPartLanes);
                __riscv_vse8_v_i8mf4(to + i * kPartLanes, __riscv_vncvt_x_x_w_i8mf4(words, kPartLanes),
                                     kPartLanes);
            }
        };
        eight(p, a);
        eight(p + 8, b);
        eight(p + 16, c);
        eight(p + 24, d);
    }

    // Bytes.
    static B load_b(const void* p) {
        const auto* bytes = static_cast<const uint8_t*>(p);
        return each<B>([&](int i) -> VB { return __riscv_vle8_v_u8m1(bytes + i * kPartBytes, kPartBytes); });
    }
    static B load_rows(const uint8_t* p, int64_t) { return load_b(p); }
    static F load_halves(const uint8_t* p, int64_t) { return load_f16(p); }
    static I load_u8_rows(const uint8_t* p, int64_t) { return load_u8(p); }
    static I load_i8_rows(const uint8_t* p, int64_t) { return load_i8(p); }
    static B load_vector(const uint8_t* p) { return load_b(p); }
    static void store_vector(uint8_t* p, B v) {
        for (int i = 0; i < kParts; ++i) __riscv_vse8_v_u8m1(p + i * kPartBytes, v.part[i], kPartBytes);
    }
    static F load_rows_f(const float* p) { return load(p); }
    static void store_rows(float* p, F v) { store(p, v); }
    static B broadcast4(const int8_t* p) {
        uint32_t four;
        __builtin_memcpy(&four, p, sizeof four);
        return each<B>([&](int) -> VB {
            return __riscv_vreinterpret_v_u32m1_u8m1(__riscv_vmv_v_x_u32m1(four, kPartLanes));
        });
    }
    static B low_nibbles(B v) { return and_b(v, set_b(15)); }
    static B high_nibbles(B v) { return shift_right_b<4>(v); }
    // 16 bytes to the 32 numbers of a Q4 block in order.
    static B expand_nibbles(const uint8_t* p) {
        const vuint8m1_t both = __riscv_vle8_v_u8m1(p, 16);
        const vuint8m1_t low = __riscv_vand_vx_u8m1(both, 15, 16);
        const vuint8m1_t high = __riscv_vsrl_vx_u8m1(both, 4, 16);
        return each<B>([&](int i) -> VB {
            if (kOne) return __riscv_vslideup_vx_u8m1(low, high, 16, 32);
            return i == 0 ? low : high;
        });
    }

    static B set_b(int value) {
        return each<B>(
            [&](int) -> VB { return __riscv_vmv_v_x_u8m1(static_cast<uint8_t>(value), kPartBytes); });
    }
    static B or_b(B a, B b) {
        return each<B>([&](int i) -> VB { return __riscv_vor_vv_u8m1(a.part[i], b.part[i], kPartBytes); });
    }
    static B and_b(B a, B b) {
        return each<B>([&](int i) -> VB { return __riscv_vand_vv_u8m1(a.part[i], b.part[i], kPartBytes); });
    }
    static B sub_b(B a, B b) {
        return each<B>([&](int i) -> VB { return __riscv_vsub_vv_u8m1(a.part[i], b.part[i], kPartBytes); });
    }
    template <int N>
    static B shift_left_b(B v) {
        return each<B>([&](int i) -> VB { return __riscv_vsll_vx_u8m1(v.part[i], N, kPartBytes); });
    }
    template <int N>
    static B shift_right_b(B v) {
        return each<B>([&](int i) -> VB { return __riscv_vsrl_vx_u8m1(v.part[i], N, kPartBytes); });
    }
    static B field_b(B v, int shift, int mask) {
        const auto count = static_cast<size_t>(shift);
        const B moved =
            each<B>([&](int i) -> VB { return __riscv_vsrl_vx_u8m1(v.part[i], count, kPartBytes); });
        return and_b(moved, set_b(mask));
    }
    static B lookup_b(const int8_t* table, B codes) {
        const vuint8m1_t values = __riscv_vle8_v_u8m1(reinterpret_cast<const uint8_t*>(table), 16);
        return each<B>(
            [&](int i) -> VB { return __riscv_vrgather_vv_u8m1(values, codes.part[i], kPartBytes); });
    }
    // The bits are a mask as they lie.
    static B expand_bits_b(const uint8_t* bits, int value) {
        return each<B>([&](int i) -> VB {
            const vbool8_t set = __riscv_vlm_v_b8(bits + i * kPartBytes / 8, kPartBytes);
            return __riscv_vmerge_vxm_u8m1(__riscv_vmv_v_x_u8m1(0, kPartBytes), static_cast<uint8_t>(value),
                                           set, kPartBytes);
        });
    }

    // There are no byte dot products. A 16-bit sum for each byte of a vector, that is the products of one
    // element of one row each, until finish() adds up four neighbours.
    struct Sum {
        VW part[kParts];
    };
    static constexpr int kSignedBias = 0;
    static constexpr int dots_per_sum(int most) {
        return 32767 / (127 * most) < 8 ? 32767 / (127 * most) : 8;
    }
    static Sum zero_sum() {
        return each<Sum>([&](int) -> VW { return __riscv_vmv_v_x_i16m2(0, kPartBytes); });
    }
    // Below 128 the sign makes no difference.
    static Sum dot_u7(Sum sum, B u, B s) {
        return each<Sum>([&](int i) -> VW {
            return __riscv_vwmacc_vv_i16m2(sum.part[i], signed_b(u.part[i]), signed_b(s.part[i]), kPartBytes);
        });
    }
    // Lower and upper halves of wider lanes, twice.
    static I finish(Sum sum) {
        return each<I>([&](int i) -> VI {
            const vint32m2_t pairs = __riscv_vreinterpret_v_i16m2_i32m2(sum.part[i]);
            const vint32m2_t sums =
                __riscv_vwadd_vv_i32m2(__riscv_vnsra_wx_i16m1(pairs, 0, kPartBytes / 2),
                                       __riscv_vnsra_wx_i16m1(pairs, 16, kPartBytes / 2), kPartBytes / 2);
            const vint64m2_t fours = __riscv_vreinterpret_v_i32m2_i64m2(sums);
            return __riscv_vadd_vv_i32m1(__riscv_vnsra_wx_i32m1(fours, 0, kPartLanes),
                                         __riscv_vnsra_wx_i32m1(fours, 32, kPartLanes), kPartLanes);
        });
    }
    static I dot_s8(I sum, B w, B s) { return add_i(sum, dot_s8_lanes(w, s)); }
    static I dot_s8_lanes(B w, B s) {
        return finish(each<Sum>([&](int i) -> VW {
            return __riscv_vwmul_vv_i16m2(signed_b(w.part[i]), signed_b(s.part[i]), kPartBytes);
        }));
    }

  private:
    static float float_of(uint32_t bits) {
        float value;
        __builtin_memcpy(&value, &bits, sizeof value);
        return value;
    }
    static uint32_t bits_of(float value) {
        uint32_t bits;
        __builtin_memcpy(&bits, &value, sizeof bits);
        return bits;
    }
    // Numbers of 16 bits, one a lane.
    static vuint32m1_t load_u16(const uint8_t* p) {
        return __riscv_vzext_vf2_u32m1(
            __riscv_vle16_v_u16mf2(reinterpret_cast<const uint16_t*>(p), kPartLanes), kPartLanes);
    }
    // The numbers of a part's lanes.
    static vuint32m1_t places(int part) {
        return __riscv_vadd_vx_u32m1(__riscv_vid_v_u32m1(kPartLanes),
                                     static_cast<uint32_t>(part * kPartLanes), kPartLanes);
    }
    static vint8m1_t signed_b(VB v) { return __riscv_vreinterpret_v_u8m1_i8m1(v); }
};

}  // namespace
}  // namespace plait::backends::cpu::simd
