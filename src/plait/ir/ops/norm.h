#pragma once

#include "plait/ir/op.h"

namespace plait::ir {

// y = x / sqrt(mean(x^2) + epsilon) * w over the innermost axis (Zhang and Sennrich 2019).
// (x F32 [rows, ..., n], w F32 [n]) -> F32 like x. With x [rows, heads, n], w may be [heads, n].
struct RmsNorm {
    float epsilon = 0;
    bool operator==(const RmsNorm&) const = default;
    static const Descriptor<RmsNorm>& descriptor();
};

// RmsNorm of a row that lies in several parts, with the sum over all of them in between.
// Of one part: (x F32 [rows, n]) -> F32 [rows, 1], the sum of x^2.
struct SumSquares {
    bool operator==(const SumSquares&) const = default;
    static const Descriptor<SumSquares>& descriptor();
};

// And y = x / sqrt(sums / whole + epsilon) * w: (x F32 [rows, n], sums F32 [rows, 1], w F32 [n]) -> F32 like
// x.
struct RmsScale {
    float epsilon = 0;
    int64_t whole = 0;  // values of the whole row, n or more
    bool operator==(const RmsScale&) const = default;
    static const Descriptor<RmsScale>& descriptor();
};

// y = (x - mean(x)) / sqrt(var(x) + epsilon) * w + b over the innermost axis (Ba et al. 2016).
// (x F32 [rows, ..., n], w F32 [n], optional b F32 [n]) -> F32 like x. With x [rows, heads, n], w and b may
// be [heads, n].
struct LayerNorm {
    float epsilon = 0;
    bool operator==(const LayerNorm&) const = default;
    static const Descriptor<LayerNorm>& descriptor();
};

}  // namespace plait::ir
