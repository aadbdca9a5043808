#pragma once

#include <vector>

#include "plait/ir/op.h"
#include "plait/ir/ops/elementwise.h"

// Values that members exchange, as nodes of their graphs. Every member's graph has the same collectives in
// the same order. What they mean takes all members, so they have no reference kernel: collectives/lower.h
// turns them into exchanges and ops that have one.
namespace plait::ir {

// Every member's term, reduced over the members value by value: (x F32) -> F32 like x, the same bits on all.
struct AllReduce {
    Reduction reduction = Reduction::sum;
    bool operator==(const AllReduce&) const = default;
    static const Descriptor<AllReduce>& descriptor();
};

// The members' pieces of the last axis, joined in order: (x F32 [rows, extents[member]]; no input where the
// extent is 0) -> F32 `whole`, no output where another is the
// root.
struct AllGather {
    TensorDesc whole;
    std::vector<int64_t> extents;  // by member
    int32_t root = -1;             // only this member gets the whole; -1: all do
    int32_t member = 0;            // whose graph this is in, if there is a root
    bool operator==(const AllGather&) const = default;
    static const Descriptor<AllGather>& descriptor();
};

// Every member's term, reduced, of which each keeps its piece of the last axis:
// (x F32 [rows, n]) -> F32 [rows, extents[member]], no output where the extent is 0.
struct ReduceScatter {
    Reduction reduction = Reduction::sum;
    std::vector<int64_t> extents;  // by member
    int32_t member = 0;            // whose graph this is in
    bool operator==(const ReduceScatter&) const = default;
    static const Descriptor<ReduceScatter>& descriptor();
};

// One member's value on all: (x F32 like `whole` on member `root`, no input elsewhere) -> F32 `whole`.
struct Broadcast {
    TensorDesc whole;
    int32_t root = 0;
    bool operator==(const Broadcast&) const = default;
    static const Descriptor<Broadcast>& descriptor();
};

// Computes nothing: whoever runs the members sees to it that they hold the same bits of a value, and fails
// the step if they do not: (x F32) -> nothing.
struct CheckEqual {
    bool unlike = false;  // on all members; else among those of equal kernel signature
    bool operator==(const CheckEqual&) const = default;
    static const Descriptor<CheckEqual>& descriptor();
};

}  // namespace plait::ir
