#pragma once

#include "plait/ir/op.h"

namespace plait::ir {

// [rows, heads * width] -> [rows, heads, width]. A view: the output shares the input's storage.
struct SplitHeads {
    int64_t heads = 0;
    bool operator==(const SplitHeads&) const = default;
    static const Descriptor<SplitHeads>& descriptor();
};

// [rows, heads, width] -> [rows, heads * width]. A view: the output shares the input's storage.
struct MergeHeads {
    bool operator==(const MergeHeads&) const = default;
    static const Descriptor<MergeHeads>& descriptor();
};

// Features [begin, begin + extent) of every row: F32 [rows, n] -> F32 [rows, extent]. For fused projections.
struct Slice {
    int64_t begin = 0;
    int64_t extent = 0;
    bool operator==(const Slice&) const = default;
    static const Descriptor<Slice>& descriptor();
};

// Rows of zeros: () -> F32 `shape`, [rows, ..., n] with the rows that `rows` counts.
struct Zeros {
    Shape shape;
    Rows rows = Rows::tokens;
    bool operator==(const Zeros&) const = default;
    static const Descriptor<Zeros>& descriptor();
};

// Every innermost row between zeros: F32 [rows, ..., n] -> F32 [rows, ..., before + n + after].
struct Pad {
    int64_t before = 0;
    int64_t after = 0;
    bool operator==(const Pad&) const = default;
    static const Descriptor<Pad>& descriptor();
};

// The features of several values, one after the other: (F32 [rows, n_i], ...) -> F32 [rows, sum of n_i].
struct Concat {
    bool operator==(const Concat&) const = default;
    static const Descriptor<Concat>& descriptor();
};

// Whole rows by index: (x F32 [tokens, n], rows I32 [outputs]) -> F32 [outputs, n].
struct GatherRows {
    bool operator==(const GatherRows&) const = default;
    static const Descriptor<GatherRows>& descriptor();
};

}  // namespace plait::ir
