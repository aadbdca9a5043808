#pragma once

#include <arm_sve.h>

#include <cstdint>

// The operations of ops_x86-inl.h in Arm's scalable vectors, built for one length (-msve-vector-bits) and
// with byte matrix products: 8 lanes are one register of 256 bits or two of 128. Every operation is the same
// in all parts; where lanes differ, a part begins at lane 4 * part.
namespace plait::backends::cpu::simd {
namespace {

struct SveOps {
    static constexpr int kBits = __ARM_FEATURE_SVE_BITS;
    static_assert(kBits == 128 || kBits == 256);
    static constexpr bool kOne = kBits == 256;  // a vector is one register
    static constexpr int kGroups = 1;
    // Tile shapes, for 32 registers.
    static constexpr int kStreams = 4;
    static constexpr int kTileRows = kOne ? 4 : 2;
    static constexpr int kTileTokens = 4;
    static constexpr int kPanelTokens = 8;
    static constexpr int kPanelVectors = 1;
    static constexpr int kLanes = 8;
    static constexpr int kLaneRows = kOne ? 12 : 6;
    using Wide = SveOps;
    using Lanes = SveOps;

    using VF = svfloat32_t __attribute__((arm_sve_vector_bits(__ARM_FEATURE_SVE_BITS)));
    using VI = svint32_t __attribute__((arm_sve_vector_bits(__ARM_FEATURE_SVE_BITS)));
    using VB = svuint8_t __attribute__((arm_sve_vector_bits(__ARM_FEATURE_SVE_BITS)));
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
    static svbool_t all() { return svptrue_b8(); }

    // Floats. min and max give their second operand if either is NaN, which takes a comparison: the
    // instructions of these names do not.
    static F zero() { return set(0.0f); }
    static F set(float v) {
        return each<F>([&](int) -> VF { return svdup_f32(v); });
    }
    static F load(const float* p) {
        return each<F>([&](int i) -> VF { return svld1_f32(all(), p + i * kPartLanes); });
    }
    static F held(F v) { return v; }
    static void store(float* p, F v) {
        for (int i = 0; i < kParts; ++i) svst1_f32(all(), p + i * kPartLanes, v.part[i]);
    }
    static F load_f16(const uint8_t* p) {
        return each<F>([&](int i) -> VF {
            return svcvt_f32_f16_x(all(), svreinterpret_f16_u32(load_u16(p + 2 * i * kPartLanes)));
        });
    }
    static F load_bf16(const uint8_t* p) {
        return each<F>([&](int i) -> VF {
            return svreinterpret_f32_u32(svlsl_n_u32_x(all(), load_u16(p + 2 * i * kPartLanes), 16));
        });
    }
    static float half(const uint8_t* p) {
        __fp16 value;
        __builtin_memcpy(&value, p, sizeof value);
        return value;
    }
    static F add(F a, F b) {
        return each<F>([&](int i) -> VF { return svadd_f32_x(all(), a.part[i], b.part[i]); });
    }
    static F sub(F a, F b) {
        return each<F>([&](int i) -> VF { return svsub_f32_x(all(), a.part[i], b.part[i]); });
    }
    static F mul(F a, F b) {
        return each<F>([&](int i) -> VF { return svmul_f32_x(all(), a.part[i], b.part[i]); });
    }
    static F halves(float first, float second) {
        return each<F>([&](int i) -> VF {
            return svsel_f32(svwhilelt_b32(i * kPartLanes, 4), svdup_f32(first), svdup_f32(second));
        });
    }
    static F div(F a, F b) {
        return each<F>([&](int i) -> VF { return svdiv_f32_x(all(), a.part[i], b.part[i]); });
    }
    static F fma(F a, F b, F c) {
        return each<F>([&](int i) -> VF { return svmla_f32_x(all(), c.part[i], a.part[i], b.part[i]); });
    }
    static F min(F a, F b) {
        return each<F>([&](int i) -> VF {
            return svsel_f32(svcmplt_f32(all(), a.part[i], b.part[i]), a.part[i], b.part[i]);
        });
    }
    static F max(F a, F b) {
        return each<F>([&](int i) -> VF {
            return svsel_f32(svcmpgt_f32(all(), a.part[i], b.part[i]), a.part[i], b.part[i]);
        });
    }
    static float sqrt(float v) {
        const VF root = svsqrt_f32_x(all(), svdup_f32(v));
        return root[0];
    }
    static float hsum(F v) {
        float l[8];
        store(l, v);
        return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
    }
    // Of lanes without NaN.
    static float hmax(F v) {
        if constexpr (kOne)
            return svmaxv_f32(all(), v.part[0]);
        else
            return svmaxv_f32(all(), svmax_f32_x(all(), v.part[0], v.part[1]));
    }

    // Within the quarters of 4 x 4, then the quarters themselves.
    static void transpose(F (&v)[8]) {
#pragma GCC unroll 2
        for (int i = 0; i < 8; i += 4)
#pragma GCC unroll 2
            for (int part = 0; part < kParts; ++part)
                transpose4(v[i].part[part], v[i + 1].part[part], v[i + 2].part[part], v[i + 3].part[part]);
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
            VF &above = v[i].part[0], &below = v[i + 4].part[0];
            if constexpr (kOne) {
                const svbool_t first = svwhilelt_b32(0, 4);
                const VF upper = svsel_f32(first, svext_f32(above, above, 4), below);
                above = svsel_f32(first, above, svext_f32(below, below, 4));
                below = upper;
            } else {
                const VF corner = v[i].part[kParts - 1];
                v[i].part[kParts - 1] = below;
                below = corner;
            }
        }
    }

    // 32-bit integers.
    static I set_i(int32_t v) {
        return each<I>([&](int) -> VI { return svdup_s32(v); });
    }
    static I lane0_i(int32_t v) {
        return each<I>(
            [&](int i) -> VI { return i == 0 ? svdup_s32_z(svptrue_pat_b32(SV_VL1), v) : svdup_s32(0); });
    }
    static I load_u8(const uint8_t* p) {
        return each<I>([&](int i) -> VI { return svld1ub_s32(all(), p + i * kPartLanes); });
    }
    static I load_i8(const uint8_t* p) {
        const auto* bytes = reinterpret_cast<const int8_t*>(p);
        return each<I>([&](int i) -> VI { return svld1sb_s32(all(), bytes + i * kPartLanes); });
    }
    static I add_i(I a, I b) {
        return each<I>([&](int i) -> VI { return svadd_s32_x(all(), a.part[i], b.part[i]); });
    }
    static I sub_i(I a, I b) {
        return each<I>([&](int i) -> VI { return svsub_s32_x(all(), a.part[i], b.part[i]); });
    }
    static I and_i(I a, I b) {
        return each<I>([&](int i) -> VI { return svand_s32_x(all(), a.part[i], b.part[i]); });
    }
    static I or_i(I a, I b) {
        return each<I>([&](int i) -> VI { return svorr_s32_x(all(), a.part[i], b.part[i]); });
    }
    static I xor_i(I a, I b) {
        return each<I>([&](int i) -> VI { return sveor_s32_x(all(), a.part[i], b.part[i]); });
    }
    static I max_i(I a, I b) {
        return each<I>([&](int i) -> VI { return svmax_s32_x(all(), a.part[i], b.part[i]); });
    }
    template <int N>
    static I shift_left(I a) {
        return each<I>([&](int i) -> VI { return svlsl_n_s32_x(all(), a.part[i], N); });
    }
    template <int N>
    static I shift_right(I a) {
        return each<I>([&](int i) -> VI { return svasr_n_s32_x(all(), a.part[i], N); });
    }
    static I shift_right_by(I a, int n) {
        const auto count = static_cast<uint32_t>(n);
        return each<I>([&](int i) -> VI { return svasr_n_s32_x(all(), a.part[i], count); });
    }
    // A table lookup by the lowest byte of each lane; the others are looked up as well, and shifted out.
    static I lookup_i(const int8_t* table, I codes) {
        const svint8_t values = svld1rq_s8(all(), table);
        return each<I>([&](int i) -> VI {
            const svint8_t bytes = svtbl_s8(values, svreinterpret_u8_s32(codes.part[i]));
            return svextb_s32_x(all(), svreinterpret_s32_s8(bytes));
        });
    }
    static I expand_bits_i(uint8_t bits, int32_t value) {
        return each<I>([&](int i) -> VI {
            const svuint32_t places = svindex_u32(static_cast<uint32_t>(i * kPartLanes), 1);
            const svuint32_t bit = svlsl_u32_x(all(), svdup_u32(1), places);
            return svdup_s32_z(svcmpne_n_u32(all(), svand_n_u32_x(all(), bit, bits), 0), value);
        });
    }
    static I bits(F v) {
        return each<I>([&](int i) -> VI { return svreinterpret_s32_f32(v.part[i]); });
    }
    static F from_bits(I v) {
        return each<F>([&](int i) -> VF { return svreinterpret_f32_s32(v.part[i]); });
    }
    static F to_f(I v) {
        return each<F>([&](int i) -> VF { return svcvt_f32_s32_x(all(), v.part[i]); });
    }
    static I round_i(F v) {
        return each<I>([&](int i) -> VI { return svcvt_s32_f32_x(all(), svrintn_f32_x(all(), v.part[i])); });
    }
    static int32_t hsum_i(I v) {
        int64_t sum = 0;
        for (int i = 0; i < kParts; ++i) sum += svaddv_s32(all(), v.part[i]);
        return static_cast<int32_t>(sum);
    }
    static int32_t hmax_i(I v) {
        if constexpr (kOne)
            return svmaxv_s32(all(), v.part[0]);
        else
            return svmaxv_s32(all(), svmax_s32_x(all(), v.part[0], v.part[1]));
    }
    static void store_i8(int8_t* p, I a, I b, I c, I d) {
        const auto eight = [](int8_t* to, I v) {
            for (int i = 0; i < kParts; ++i) svst1b_s32(all(), to + i * kPartLanes, v.part[i]);
        };
        eight(p, a);
        eight(p + 8, b);
        eight(p + 16, c);
        eight(p + 24, d);
    }

    // Bytes.
    static B load_b(const void* p) {
        const auto* bytes = static_cast<const uint8_t*>(p);
        return each<B>([&](int i) -> VB { return svld1_u8(all(), bytes + i * kPartBytes); });
    }
    static B load_rows(const uint8_t* p, int64_t) { return load_b(p); }
    static F load_halves(const uint8_t* p, int64_t) { return load_f16(p); }
    static I load_u8_rows(const uint8_t* p, int64_t) { return load_u8(p); }
    static I load_i8_rows(const uint8_t* p, int64_t) { return load_i8(p); }
    static B load_vector(const uint8_t* p) { return load_b(p); }
    static void store_vector(uint8_t* p, B v) {
        for (int i = 0; i < kParts; ++i) svst1_u8(all(), p + i * kPartBytes, v.part[i]);
    }
    static F load_rows_f(const float* p) { return load(p); }
    static void store_rows(float* p, F v) { store(p, v); }
    static B broadcast4(const int8_t* p) {
        uint32_t four;
        __builtin_memcpy(&four, p, sizeof four);
        return each<B>([&](int) -> VB { return svreinterpret_u8_u32(svdup_u32(four)); });
    }
    static B low_nibbles(B v) { return and_b(v, set_b(15)); }
    static B high_nibbles(B v) { return shift_right_b<4>(v); }
    // 16 bytes to the 32 numbers of a Q4 block in order.
    static B expand_nibbles(const uint8_t* p) {
        const svuint8_t both = svld1rq_u8(all(), p);
        return each<B>([&](int i) -> VB {
            return svsel_u8(svwhilelt_b8(i * kPartBytes, 16), svand_n_u8_x(all(), both, 15),
                            svlsr_n_u8_x(all(), both, 4));
        });
    }

    static B set_b(int value) {
        return each<B>([&](int) -> VB { return svdup_u8(static_cast<uint8_t>(value)); });
    }
    static B or_b(B a, B b) {
        return each<B>([&](int i) -> VB { return svorr_u8_x(all(), a.part[i], b.part[i]); });
    }
    static B and_b(B a, B b) {
        return each<B>([&](int i) -> VB { return svand_u8_x(all(), a.part[i], b.part[i]); });
    }
    static B sub_b(B a, B b) {
        return each<B>([&](int i) -> VB { return svsub_u8_x(all(), a.part[i], b.part[i]); });
    }
    template <int N>
    static B shift_left_b(B v) {
        return each<B>([&](int i) -> VB { return svlsl_n_u8_x(all(), v.part[i], N); });
    }
    template <int N>
    static B shift_right_b(B v) {
        return each<B>([&](int i) -> VB { return svlsr_n_u8_x(all(), v.part[i], N); });
    }
    static B field_b(B v, int shift, int mask) {
        const auto count = static_cast<uint8_t>(shift);
        const B moved = each<B>([&](int i) -> VB { return svlsr_n_u8_x(all(), v.part[i], count); });
        return and_b(moved, set_b(mask));
    }
    static B lookup_b(const int8_t* table, B codes) {
        const svuint8_t values = svreinterpret_u8_s8(svld1rq_s8(all(), table));
        return each<B>([&](int i) -> VB { return svtbl_u8(values, codes.part[i]); });
    }
    static B expand_bits_b(const uint8_t* bits, int value) {
        uint32_t four;
        __builtin_memcpy(&four, bits, sizeof four);
        const svuint8_t bytes = svreinterpret_u8_u32(svdup_u32(four));
        return each<B>([&](int i) -> VB {
            const svuint8_t places = svindex_u8(static_cast<uint8_t>(i * kPartBytes), 1);
            const svuint8_t bit = svlsl_u8_x(all(), svdup_u8(1), svand_n_u8_x(all(), places, 7));
            const svuint8_t found = svtbl_u8(bytes, svlsr_n_u8_x(all(), places, 3));
            const svbool_t set = svcmpne_n_u8(all(), svand_u8_x(all(), found, bit), 0);
            return svdup_u8_z(set, static_cast<uint8_t>(value));
        });
    }

    // Byte products, as in ops_dotprod-inl.h and kernels_i8mm.cpp.
    using Sum = I;
    static constexpr int kSignedBias = 0;
    static constexpr int dots_per_sum(int) { return 8; }
    static Sum zero_sum() { return set_i(0); }
    static Sum dot_u7(Sum sum, B u, B s) { return dot_s8(sum, u, s); }
    static I finish(Sum sum) { return sum; }
    static I dot_s8(I sum, B w, B s) {
        return each<I>([&](int i) -> VI {
            return svdot_s32(sum.part[i], svreinterpret_s8_u8(w.part[i]), svreinterpret_s8_u8(s.part[i]));
        });
    }
    static I dot_s8_lanes(B w, B s) { return dot_s8(set_i(0), w, s); }

    static void join(B a, B b, B& first, B& second) {
        const auto zip = [&](int i) -> VB {
            const svuint32_t u = svreinterpret_u32_u8(a.part[i / 2]), v = svreinterpret_u32_u8(b.part[i / 2]);
            return svreinterpret_u8_u32(i % 2 == 0 ? svzip1_u32(u, v) : svzip2_u32(u, v));
        };
        first = each<B>([&](int i) -> VB { return zip(i); });
        second = each<B>([&](int i) -> VB { return zip(kParts + i); });
    }
    static B broadcast_pair(const int8_t* a, const int8_t* b) {
        uint64_t pair[2];
        __builtin_memcpy(pair, a, 8);
        __builtin_memcpy(pair + 1, b, 8);
        return each<B>([&](int) -> VB { return svreinterpret_u8_u64(svdupq_n_u64(pair[0], pair[1])); });
    }
    static I dot_pairs(I sum, B w, B s) {
        return each<I>([&](int i) -> VI {
            return svmmla_s32(sum.part[i], svreinterpret_s8_u8(w.part[i]), svreinterpret_s8_u8(s.part[i]));
        });
    }
    static I even_lanes(I a, I b) {
        return each<I>([&](int i) -> VI { return svuzp1_s32(part(a, b, 2 * i), part(a, b, 2 * i + 1)); });
    }
    static I odd_lanes(I a, I b) {
        return each<I>([&](int i) -> VI { return svuzp2_s32(part(a, b, 2 * i), part(a, b, 2 * i + 1)); });
    }

  private:
    // Numbers of 16 bits, one a lane.
    static svuint32_t load_u16(const uint8_t* p) {
        return svld1uh_u32(all(), reinterpret_cast<const uint16_t*>(p));
    }
    // Of the parts of both, one after the other.
    static VI part(I a, I b, int i) { return i < kParts ? a.part[i] : b.part[i - kParts]; }
    // In each 4 lanes.
    static void transpose4(VF& a, VF& b, VF& c, VF& d) {
        const svfloat64_t first = svreinterpret_f64_f32(svtrn1_f32(a, b));
        const svfloat64_t second = svreinterpret_f64_f32(svtrn2_f32(a, b));
        const svfloat64_t third = svreinterpret_f64_f32(svtrn1_f32(c, d));
        const svfloat64_t fourth = svreinterpret_f64_f32(svtrn2_f32(c, d));
        a = svreinterpret_f32_f64(svtrn1_f64(first, third));
        b = svreinterpret_f32_f64(svtrn1_f64(second, fourth));
        c = svreinterpret_f32_f64(svtrn2_f64(first, third));
        d = svreinterpret_f32_f64(svtrn2_f64(second, fourth));
    }
};

}  // namespace
}  // namespace plait::backends::cpu::simd
