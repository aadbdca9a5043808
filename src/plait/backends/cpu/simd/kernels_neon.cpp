// Built for the baseline of 64-bit Arm, which has no byte dot products.
#include "plait/backends/cpu/simd/ops_neon-inl.h"
#include "plait/backends/cpu/simd/table-inl.h"

namespace plait::backends::cpu::simd {
namespace {

struct PlainNeonOps : NeonOps {
    using Wide = PlainNeonOps;

    // A 16-bit sum for each byte of a vector, that is the products of one element of one row each.
    struct Sum {
        int16x8_t part[4];
    };
    static constexpr int kSignedBias = 0;
    static constexpr int dots_per_sum(int most) {
        return 32767 / (127 * most) < 8 ? 32767 / (127 * most) : 8;
    }
    static Sum zero_sum() {
        const int16x8_t zero = vdupq_n_s16(0);
        return {{zero, zero, zero, zero}};
    }
    // Below 128 the sign makes no difference.
    static Sum dot_u7(Sum sum, B u, B s) {
        return {{vmlal_s8(sum.part[0], vget_low_s8(low_s8(u)), vget_low_s8(low_s8(s))),
                 vmlal_high_s8(sum.part[1], low_s8(u), low_s8(s)),
                 vmlal_s8(sum.part[2], vget_low_s8(high_s8(u)), vget_low_s8(high_s8(s))),
                 vmlal_high_s8(sum.part[3], high_s8(u), high_s8(s))}};
    }
    static I finish(Sum sum) {
        return {vpaddq_s32(vpaddlq_s16(sum.part[0]), vpaddlq_s16(sum.part[1])),
                vpaddq_s32(vpaddlq_s16(sum.part[2]), vpaddlq_s16(sum.part[3]))};
    }

    // Two products of a byte, -128 among them, with up to 127 still fit 16 bits.
    static I dot_s8(I sum, B w, B s) {
        return {vpadalq_s16(sum.low, pairs(low_s8(w), low_s8(s))),
                vpadalq_s16(sum.high, pairs(high_s8(w), high_s8(s)))};
    }
    static I dot_s8_lanes(B w, B s) {
        return {vpaddlq_s16(pairs(low_s8(w), low_s8(s))), vpaddlq_s16(pairs(high_s8(w), high_s8(s)))};
    }

  private:
    static int16x8_t pairs(int8x16_t w, int8x16_t s) {
        return vpaddq_s16(vmull_s8(vget_low_s8(w), vget_low_s8(s)), vmull_high_s8(w, s));
    }
};

constexpr KernelTable kTable = make_table<PlainNeonOps>();

}  // namespace

const KernelTable& kernels_neon() { return kTable; }

}  // namespace plait::backends::cpu::simd
