#pragma once

#include <variant>

#include "plait/ir/ops/attention.h"
#include "plait/ir/ops/collective.h"
#include "plait/ir/ops/elementwise.h"
#include "plait/ir/ops/embed.h"
#include "plait/ir/ops/exchange.h"
#include "plait/ir/ops/experts.h"
#include "plait/ir/ops/matmul.h"
#include "plait/ir/ops/norm.h"
#include "plait/ir/ops/reshape.h"
#include "plait/ir/ops/rope.h"
#include "plait/ir/ops/sample_candidates.h"
#include "plait/ir/ops/tap.h"

namespace plait::ir {

// Every op there is. Adding one here is what makes it known; its place in the list is its OpId.
using Op = std::variant<Embed, RmsNorm, LayerNorm, SumSquares, RmsScale, Matmul, MatmulExperts, Add, Combine,
                        Scale, Clamp, SoftCap, Activate, GatedActivate, ClampedSwiglu, SplitHeads, MergeHeads,
                        Slice, Zeros, Pad, Concat, GatherRows, RopeAngles, Rope, CopyPages, KvWrite,
                        Attention, TopKExperts, AddExpertBias, WeightedSum, AllReduce, AllGather,
                        ReduceScatter, Broadcast, CheckEqual, Tap, Exchange, SampleCandidates>;

using OpId = size_t;
inline constexpr size_t kOpCount = std::variant_size_v<Op>;

inline OpId op_id(const Op& op) { return op.index(); }

// The place of an op's type in the list, at compile time.
template <class OpType, size_t I = 0>
constexpr OpId op_id_of() {
    static_assert(I < kOpCount, "not an op of the list");
    if constexpr (std::is_same_v<std::variant_alternative_t<I, Op>, OpType>) {
        return I;
    } else {
        return op_id_of<OpType, I + 1>();
    }
}

// Descriptor lookups, by op.
const char* op_name(const Op& op);
const char* op_name(OpId id);
std::vector<TensorDesc> op_infer(const Op& op, std::span<const TensorDesc> inputs);
void op_reference(const Op& op, const Call& call);
uint32_t op_linear_in(const Op& op);
StateWrites op_writes_state(const Op& op);
bool op_is_host_action(const Op& op);
// The output is its first input under another shape, without a copy.
bool op_is_view(const Op& op);
// The members of a device run it together.
bool op_is_collective(const Op& op);
bool op_decides(const Op& op);

}  // namespace plait::ir
