#pragma once

#include "plait/ir/op.h"

namespace plait::ir {

enum class RopeScaling : uint8_t {
    none,
    linear,  // positions divided by `factor` (Chen et al. 2023)
    yarn,    // interpolation by wavelength with attention scaling (Peng et al. 2023)
};

// The angles of rotary position embedding (Su et al. 2021), once per step for all layers:
// (positions I32 [tokens], optional frequency divisors F32 [dims / 2]) -> F32 [tokens, dims / 2, 2], (cos,
// sin) pairs. Pair i turns by position * base^(-2i/dims) / divisor[i], scaled as `scaling` says; the pairs
// carry the magnitude factor, so the rotation itself is a plain complex product. Angles are computed in
// double precision.
struct RopeAngles {
    int64_t dims = 0;  // rotated features per head, even
    float base = 10000.0f;
    RopeScaling scaling = RopeScaling::none;
    float factor = 1.0f;            // how much longer than trained the context is
    float attention_factor = 1.0f;  // magnitude of every pair, on top of what yarn itself asks for
    // yarn only: context length in training; rotations in it above which a pair is left alone, below which it
    // is interpolated fully; how much of the correction to mix in.
    int64_t original_context = 0;
    float beta_fast = 32.0f;
    float beta_slow = 1.0f;
    float extrapolation = 1.0f;
    bool whole_pairs = true;  // the ramp between those pairs begins and ends at whole ones, as GGUF's authors
                              // compute it; gpt-oss was trained without the rounding
    bool operator==(const RopeAngles&) const = default;
    static const Descriptor<RopeAngles>& descriptor();
};

enum class RopePairs : uint8_t {
    adjacent,  // features (2i, 2i+1): files of llama models have their rows permuted for it
    halves,    // features (i, i + dims/2)
};

// Rotates the first `dims` features of every head and passes the rest through:
// (x F32 [tokens, heads, width], angles F32 [tokens, dims / 2, 2]) -> F32 like x.
struct Rope {
    RopePairs pairs = RopePairs::adjacent;
    bool operator==(const Rope&) const = default;
    static const Descriptor<Rope>& descriptor();
};

}  // namespace plait::ir
