#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plait/ir/layout.h"

// How an op behaves when its operands are spread over members. Every op has one rule, a pure function, in its
// descriptor; the shard pass (plan/shard.h) does what the rules say and knows no op by name.
namespace plait::ir {

struct ShardQuery {
    std::span<const TensorDesc> inputs;  // of the whole values
    std::span<const Layout>
        layouts;  // of the inputs; not all mirrored: then every member runs the op as it is
    int members = 1;

    const Layout& layout(size_t input) const { return layouts[input]; }
    bool is(size_t input, LayoutKind kind) const { return layouts[input].kind == kind; }
};

// A mirrored input that every member cuts for itself.
struct LocalSlice {
    size_t input = 0;
    Layout layout;
};

// Zeros that a member puts around the last axis of input 0, because of the weight it meets the member also
// stores the foreign parts of the outermost blocks.
struct Margin {
    int64_t before = 0;
    int64_t after = 0;
    bool operator==(const Margin&) const = default;
};

// Exactly one of these holds: `outputs` says how the op's outputs lie when the members run it, each on what
// it has; `whole` names an input that must first be the same everywhere; `refusal` says why neither works.
template <class OpType>
struct ShardAnswer {
    // A split one may be longer than the axis it splits: then every member has as much as one device would.
    std::vector<Layout> outputs;
    std::vector<OpType> ops;  // by member; none: the op as it is
    std::vector<LocalSlice> slices;
    std::vector<Margin> margins;  // by member; none: no margins
    // This mirrored input is a term that is added once: after the reduction of the sum that the op continues.
    std::optional<size_t> deferred;
    // The output is the sum of the inputs: terms put off for one of them are put off for the sum as they are.
    bool sums = false;
    // One member adds this op's share to its term (input 0); the others pass theirs on.
    bool once = false;
    // The op's row is split: it can still be run as SumSquares, a reduction, and RmsScale.
    bool decompose = false;
    // The split output is to be gathered as soon as somebody needs more than his part of every row.
    bool gather = false;

    std::optional<size_t> whole;
    std::string refusal;
};

template <class OpType>
using ShardFn = ShardAnswer<OpType> (*)(const OpType& op, const ShardQuery& query);

}  // namespace plait::ir
