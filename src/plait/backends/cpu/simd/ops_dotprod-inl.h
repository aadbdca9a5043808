#pragma once

#include "plait/backends/cpu/simd/ops_neon-inl.h"

// ops_neon-inl.h with the byte dot products of Arm (built with at least +dotprod).
namespace plait::backends::cpu::simd {
namespace {

struct DotprodBase : NeonOps {
    using Sum = I;
    static constexpr int kSignedBias = 0;
    static constexpr int dots_per_sum(int) { return 8; }
    static Sum zero_sum() { return set_i(0); }
    // Below 128 the sign makes no difference.
    static Sum dot_u7(Sum sum, B u, B s) { return dot_s8(sum, u, s); }
    static I finish(Sum sum) { return sum; }
    static I dot_s8(I sum, B w, B s) {
        return {vdotq_s32(sum.low, low_s8(w), low_s8(s)), vdotq_s32(sum.high, high_s8(w), high_s8(s))};
    }
    static I dot_s8_lanes(B w, B s) { return dot_s8(set_i(0), w, s); }
};

}  // namespace
}  // namespace plait::backends::cpu::simd
