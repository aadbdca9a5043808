#pragma once

#include "plait/ir/ops/list.h"

// The ops' rules for operands that are spread over members (ir/shard_rule.h): each is its descriptor's.
namespace plait::ir {

ShardAnswer<Scale> shard(const Scale& op, const ShardQuery& query);
ShardAnswer<Clamp> shard(const Clamp& op, const ShardQuery& query);
ShardAnswer<SoftCap> shard(const SoftCap& op, const ShardQuery& query);
ShardAnswer<Activate> shard(const Activate& op, const ShardQuery& query);
ShardAnswer<GatedActivate> shard(const GatedActivate& op, const ShardQuery& query);
ShardAnswer<ClampedSwiglu> shard(const ClampedSwiglu& op, const ShardQuery& query);
ShardAnswer<Add> shard(const Add& op, const ShardQuery& query);
ShardAnswer<Matmul> shard(const Matmul& op, const ShardQuery& query);
ShardAnswer<MatmulExperts> shard(const MatmulExperts& op, const ShardQuery& query);
ShardAnswer<AddExpertBias> shard(const AddExpertBias& op, const ShardQuery& query);
ShardAnswer<WeightedSum> shard(const WeightedSum& op, const ShardQuery& query);
ShardAnswer<TopKExperts> shard(const TopKExperts& op, const ShardQuery& query);
ShardAnswer<Embed> shard(const Embed& op, const ShardQuery& query);
ShardAnswer<RmsNorm> shard(const RmsNorm& op, const ShardQuery& query);
ShardAnswer<LayerNorm> shard(const LayerNorm& op, const ShardQuery& query);
ShardAnswer<SplitHeads> shard(const SplitHeads& op, const ShardQuery& query);
ShardAnswer<MergeHeads> shard(const MergeHeads& op, const ShardQuery& query);
ShardAnswer<Slice> shard(const Slice& op, const ShardQuery& query);
ShardAnswer<GatherRows> shard(const GatherRows& op, const ShardQuery& query);
ShardAnswer<RopeAngles> shard(const RopeAngles& op, const ShardQuery& query);
ShardAnswer<Rope> shard(const Rope& op, const ShardQuery& query);
ShardAnswer<CopyPages> shard(const CopyPages& op, const ShardQuery& query);
ShardAnswer<KvWrite> shard(const KvWrite& op, const ShardQuery& query);
ShardAnswer<Attention> shard(const Attention& op, const ShardQuery& query);
ShardAnswer<SampleCandidates> shard(const SampleCandidates& op, const ShardQuery& query);
ShardAnswer<Tap> shard(const Tap& op, const ShardQuery& query);

// The rule of the op's descriptor. Refuses ops that only members' graphs have.
ShardAnswer<Op> op_shard(const Op& op, const ShardQuery& query);

// A norm whose row is split, in two halves with a reduction between them: sums of squares of each part, then
// its scaling. ENSUREs that the op's rule says so (ShardAnswer::decompose).
struct Decomposed {
    Op squares;
    Op scale;
};
Decomposed decomposed(const Op& op, int64_t whole);

}  // namespace plait::ir
