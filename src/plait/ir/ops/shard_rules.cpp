#include "plait/ir/ops/shard_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "plait/base/ensure.h"

// The rules, by kinds of behaviour. `x` is always input 0.
namespace plait::ir {
namespace {

constexpr LayoutKind kMirrored = LayoutKind::mirrored;
constexpr LayoutKind kSplit = LayoutKind::split;
constexpr LayoutKind kPartial = LayoutKind::partial;
constexpr LayoutKind kRouted = LayoutKind::routed;

template <class OpType>
ShardAnswer<OpType> run_as(std::vector<Layout> outputs) {
    return {.outputs = std::move(outputs)};
}

template <class OpType>
ShardAnswer<OpType> need_whole(size_t input) {
    ShardAnswer<OpType> answer;
    answer.whole = input;
    return answer;
}

template <class OpType>
ShardAnswer<OpType> refuse(const ShardQuery& query, std::string_view why) {
    ShardAnswer<OpType> answer;
    std::string operands;
    for (size_t input = 0; input < query.inputs.size(); ++input)
        operands += fmt::format("{}{} {}", input == 0 ? "" : ", ", query.inputs[input].text(),
                                query.layout(input).text());
    answer.refusal = fmt::format("{} cannot run on operands that lie so ({}): {}", OpType::descriptor().name,
                                 operands, why);
    return answer;
}

int last_axis(const TensorDesc& desc) { return desc.shape.rank() - 1; }

bool split_on(const ShardQuery& query, size_t input, int axis) {
    return query.is(input, kSplit) && query.layout(input).axis == axis;
}

bool split_on_last(const ShardQuery& query, size_t input) {
    return split_on(query, input, last_axis(query.inputs[input]));
}

// Every member has one piece of the axis, and not one of each of several parts.
bool one_stretch(const Layout& layout) { return layout.segments.size() == 1; }

// Equal pieces, whatever axis they are of.
bool same_pieces(const Layout& a, const Layout& b) { return a.segments == b.segments; }

// Of the first input that is no sum's term and no split, if any: what most ops want.
std::optional<size_t> first_unfinished(const ShardQuery& query) {
    for (size_t input = 0; input < query.inputs.size(); ++input) {
        if (query.is(input, kPartial) || query.is(input, kRouted)) return input;
    }
    return std::nullopt;
}

struct Unary {
    bool linear = false;
    bool keeps_zero = false;  // f(0) = 0
};

// Every value by itself.
template <class OpType>
ShardAnswer<OpType> each_value(const ShardQuery& query, Unary traits) {
    if (query.is(0, kPartial) && !traits.linear) return need_whole<OpType>(0);
    if (query.is(0, kRouted) && !traits.keeps_zero) return need_whole<OpType>(0);
    return run_as<OpType>({query.layout(0)});
}

// Value by value of two inputs of one shape.
template <class OpType>
ShardAnswer<OpType> each_pair(const ShardQuery& query) {
    for (size_t input = 0; input < 2; ++input) {
        const size_t other = 1 - input;
        if (!query.is(input, kSplit)) continue;
        if (query.is(other, kMirrored)) {
            ShardAnswer<OpType> answer = run_as<OpType>({query.layout(input)});
            answer.slices.push_back({other, query.layout(input)});
            return answer;
        }
        if (query.is(other, kSplit)) {
            if (query.layout(0) == query.layout(1)) return run_as<OpType>({query.layout(0)});
            return refuse<OpType>(query, "the members' pieces of the two inputs differ");
        }
    }
    return need_whole<OpType>(*first_unfinished(query));
}

}  // namespace

// --- value by value

ShardAnswer<Scale> shard(const Scale&, const ShardQuery& query) {
    return each_value<Scale>(query, {.linear = true, .keeps_zero = true});
}
ShardAnswer<Clamp> shard(const Clamp&, const ShardQuery& query) {
    return each_value<Clamp>(query, {.keeps_zero = true});
}
ShardAnswer<SoftCap> shard(const SoftCap&, const ShardQuery& query) {
    return each_value<SoftCap>(query, {.keeps_zero = true});
}
ShardAnswer<Activate> shard(const Activate& op, const ShardQuery& query) {
    return each_value<Activate>(query, {.keeps_zero = op.activation != Activation::sigmoid});
}

namespace {

// Of a pair, a row of zeros stays one where the factor at `input` is 0 and the other is whole, or zero in the
// same rows.
bool zero_by(const ShardQuery& query, size_t input) {
    const Layout& other = query.layout(1 - input);
    return query.is(input, kRouted) && (other.is(kMirrored) || other == query.layout(input));
}

}  // namespace

ShardAnswer<GatedActivate> shard(const GatedActivate& op, const ShardQuery& query) {
    if (zero_by(query, 1)) return run_as<GatedActivate>({query.layout(1)});
    if (zero_by(query, 0) && op.activation != Activation::sigmoid)
        return run_as<GatedActivate>({query.layout(0)});
    return each_pair<GatedActivate>(query);
}
ShardAnswer<ClampedSwiglu> shard(const ClampedSwiglu&, const ShardQuery& query) {
    if (zero_by(query, 0)) return run_as<ClampedSwiglu>({query.layout(0)});
    return each_pair<ClampedSwiglu>(query);
}

// A sum's terms may be added before the sum is complete; a term that everybody has is added once, afterwards.
ShardAnswer<Add> shard(const Add&, const ShardQuery& query) {
    if (query.is(0, kPartial) && query.is(1, kPartial)) return {.outputs = {Layout::partial()}, .sums = true};
    for (size_t input = 0; input < 2; ++input) {
        if (!query.is(input, kPartial) || !query.is(1 - input, kMirrored)) continue;
        return {.outputs = {Layout::partial()}, .deferred = 1 - input, .sums = true};
    }
    if (const auto unfinished = first_unfinished(query)) return need_whole<Add>(*unfinished);
    // b may be a row that is added to every row of a.
    if (query.inputs[1].shape.rank() == 2) return each_pair<Add>(query);
    if (query.is(0, kMirrored) && split_on(query, 1, 0)) {
        const Layout rows = Layout::split(1, query.layout(1).segments);
        ShardAnswer<Add> answer = run_as<Add>({rows});
        answer.slices.push_back({0, rows});
        return answer;
    }
    if (!split_on(query, 0, 1)) return refuse<Add>(query, "only features of a row can be split");
    ShardAnswer<Add> answer = run_as<Add>({query.layout(0)});
    if (query.is(1, kMirrored)) {
        answer.slices.push_back({1, Layout::split(0, query.layout(0).segments)});
        return answer;
    }
    if (!same_pieces(query.layout(0), query.layout(1)))
        return refuse<Add>(query, "the members' pieces of row and sum differ");
    return answer;
}

// --- products

namespace {

// x F32 [..., in] times a weight whose axis `in_axis` is read along and `out_axis` written along.
template <class OpType>
ShardAnswer<OpType> product(const ShardQuery& query, int out_axis, int in_axis, int result_axis) {
    if (query.is(0, kPartial) || query.is(0, kRouted)) return need_whole<OpType>(0);
    if (query.is(1, kMirrored)) return need_whole<OpType>(0);  // x is split then
    if (split_on(query, 1, out_axis)) {
        if (query.is(0, kSplit)) return need_whole<OpType>(0);
        return run_as<OpType>({Layout::split(result_axis, query.layout(1).segments)});
    }
    if (!split_on(query, 1, in_axis))
        return refuse<OpType>(query, "the weight is cut along no axis of a matrix");
    if (!query.layout(1).disjoint())
        return refuse<OpType>(query, "what is summed over belongs to two members");
    ShardAnswer<OpType> answer = run_as<OpType>({Layout::partial()});
    const int x_axis = last_axis(query.inputs[0]);
    if (query.is(0, kMirrored)) {
        answer.slices.push_back({0, Layout::split(x_axis, query.layout(1).segments)});
    } else if (!split_on(query, 0, x_axis) || !same_pieces(query.layout(0), query.layout(1))) {
        return refuse<OpType>(query, "the members' pieces of input and weight differ");
    }
    for (int member = 0; member < query.members; ++member) {
        const StoredSlice slice = stored_slice(query.inputs[1], query.layout(1), member);
        answer.margins.push_back({slice.before, slice.after});
    }
    return answer;
}

std::vector<Range> ranges_of(const Layout& layout) { return layout.segments.front().ranges; }

}  // namespace

ShardAnswer<Matmul> shard(const Matmul&, const ShardQuery& query) { return product<Matmul>(query, 0, 1, 1); }

ShardAnswer<MatmulExperts> shard(const MatmulExperts& op, const ShardQuery& query) {
    if (!query.is(2, kMirrored)) return need_whole<MatmulExperts>(2);
    if (!split_on(query, 1, 0)) return product<MatmulExperts>(query, 1, 2, 2);
    if (query.is(0, kPartial)) return need_whole<MatmulExperts>(0);
    if (query.is(0, kSplit))
        return refuse<MatmulExperts>(query, "experts and features cannot be split at once");
    if (!one_stretch(query.layout(1)) || !query.layout(1).disjoint())
        return refuse<MatmulExperts>(query,
                                     "a member must have one stretch of the experts, and no two the same");
    const Layout routed = Layout::routed(query.layout(1).segments);
    if (query.is(0, kRouted) && query.layout(0) != routed) return need_whole<MatmulExperts>(0);
    ShardAnswer<MatmulExperts> answer = run_as<MatmulExperts>({routed});
    for (const Range& range : ranges_of(query.layout(1)))
        answer.ops.push_back({.first_expert = op.first_expert + range.begin});
    return answer;
}

ShardAnswer<AddExpertBias> shard(const AddExpertBias& op, const ShardQuery& query) {
    if (!query.is(2, kMirrored)) return need_whole<AddExpertBias>(2);
    if (query.is(0, kPartial)) {
        if (!query.is(1, kMirrored))
            return refuse<AddExpertBias>(query, "the bias is cut and the sum is not");
        ShardAnswer<AddExpertBias> answer = run_as<AddExpertBias>({Layout::partial()});
        answer.once = true;
        return answer;
    }
    if (query.is(0, kRouted)) {
        if (!split_on(query, 1, 0) || !same_pieces(query.layout(0), query.layout(1)))
            return refuse<AddExpertBias>(query, "the members' experts of input and bias differ");
        ShardAnswer<AddExpertBias> answer = run_as<AddExpertBias>({query.layout(0)});
        for (const Range& range : ranges_of(query.layout(1)))
            answer.ops.push_back({.first_expert = op.first_expert + range.begin});
        return answer;
    }
    if (split_on(query, 0, 2) && split_on(query, 1, 1) && same_pieces(query.layout(0), query.layout(1)))
        return run_as<AddExpertBias>({query.layout(0)});
    if (split_on(query, 0, 2) && query.is(1, kMirrored)) {
        ShardAnswer<AddExpertBias> answer = run_as<AddExpertBias>({query.layout(0)});
        answer.slices.push_back({1, Layout::split(1, query.layout(0).segments)});
        return answer;
    }
    return refuse<AddExpertBias>(query, "the members' pieces of input and bias differ");
}

ShardAnswer<WeightedSum> shard(const WeightedSum&, const ShardQuery& query) {
    if (!query.is(1, kMirrored)) return need_whole<WeightedSum>(1);
    if (query.is(0, kPartial) || query.is(0, kRouted)) return run_as<WeightedSum>({Layout::partial()});
    if (!split_on(query, 0, 2)) return refuse<WeightedSum>(query, "only features can be split");
    return run_as<WeightedSum>({Layout::split(1, query.layout(0).segments)});
}

ShardAnswer<TopKExperts> shard(const TopKExperts&, const ShardQuery&) { return need_whole<TopKExperts>(0); }

// --- tables

namespace {

bool torn_blocks(const ShardQuery& query, size_t input) {
    for (int member = 0; member < query.members; ++member) {
        const StoredSlice slice = stored_slice(query.inputs[input], query.layout(input), member);
        if (slice.before > 0 || slice.after > 0) return true;
    }
    return false;
}

}  // namespace

ShardAnswer<Embed> shard(const Embed& op, const ShardQuery& query) {
    if (!query.is(1, kMirrored)) return need_whole<Embed>(1);
    if (split_on(query, 0, 1)) {
        if (torn_blocks(query, 0)) return refuse<Embed>(query, "a border goes through a block");
        if (!query.layout(0).joins_in_order())
            return refuse<Embed>(query, "the members' pieces do not make up a row, one after the other");
        ShardAnswer<Embed> answer = run_as<Embed>({query.layout(0)});
        answer.gather = true;
        return answer;
    }
    if (!split_on(query, 0, 0) || !one_stretch(query.layout(0)) || !query.layout(0).disjoint())
        return refuse<Embed>(query,
                             "a member must have one stretch of the table's rows, and no two the same row");
    ShardAnswer<Embed> answer = run_as<Embed>({Layout::partial()});
    for (const Range& range : ranges_of(query.layout(0)))
        answer.ops.push_back({.first_row = op.first_row + range.begin});
    return answer;
}

// --- norms

namespace {

// Rows of heads, each normalised by itself, when heads are split: weights are one row for all, or one per
// head.
template <class OpType>
ShardAnswer<OpType> norm_by_heads(const ShardQuery& query) {
    ShardAnswer<OpType> answer = run_as<OpType>({query.layout(0)});
    for (size_t input = 1; input < query.inputs.size(); ++input) {
        const bool one_per_head = query.inputs[input].shape.rank() == 2;
        const Layout wanted = Layout::split(0, query.layout(0).segments);
        if (query.is(input, kMirrored)) {
            if (one_per_head) answer.slices.push_back({input, wanted});
        } else if (!one_per_head || query.layout(input) != wanted) {
            return refuse<OpType>(query, "the members' heads of input and weight differ");
        }
    }
    return answer;
}

template <class OpType>
ShardAnswer<OpType> norm(const ShardQuery& query, bool decomposes) {
    if (const auto unfinished = first_unfinished(query)) return need_whole<OpType>(*unfinished);
    if (query.inputs[0].shape.rank() == 3 && split_on(query, 0, 1)) return norm_by_heads<OpType>(query);
    if (query.inputs[0].shape.rank() != 2 || !split_on(query, 0, 1))
        return refuse<OpType>(query, "a row that is normalised must be whole");
    if (!decomposes) return need_whole<OpType>(0);
    if (!one_stretch(query.layout(0)))
        return refuse<OpType>(query, "a row that is normalised in pieces must be one stretch");
    ShardAnswer<OpType> answer = run_as<OpType>({query.layout(0)});
    answer.decompose = true;
    if (query.is(1, kMirrored)) {
        answer.slices.push_back({1, Layout::split(0, query.layout(0).segments)});
    } else if (!same_pieces(query.layout(0), query.layout(1))) {
        return refuse<OpType>(query, "the members' pieces of row and weight differ");
    }
    return answer;
}

}  // namespace

ShardAnswer<RmsNorm> shard(const RmsNorm&, const ShardQuery& query) { return norm<RmsNorm>(query, true); }
ShardAnswer<LayerNorm> shard(const LayerNorm&, const ShardQuery& query) {
    return norm<LayerNorm>(query, false);
}

// --- shapes

ShardAnswer<SplitHeads> shard(const SplitHeads& op, const ShardQuery& query) {
    if (query.is(0, kRouted)) return need_whole<SplitHeads>(0);
    if (query.is(0, kPartial)) return run_as<SplitHeads>({Layout::partial()});
    const int64_t width = query.inputs[0].shape[1] / op.heads;
    if (!split_on(query, 0, 1) || !can_divide(query.layout(0), width))
        return refuse<SplitHeads>(query, "a border goes through a head");
    const Layout heads = divide(query.layout(0), 1, width);
    ShardAnswer<SplitHeads> answer = run_as<SplitHeads>({heads});
    for (int member = 0; member < query.members; ++member)
        answer.ops.push_back({.heads = heads.extent_of(member)});
    return answer;
}

ShardAnswer<MergeHeads> shard(const MergeHeads&, const ShardQuery& query) {
    if (query.is(0, kRouted)) return need_whole<MergeHeads>(0);
    if (query.is(0, kPartial)) return run_as<MergeHeads>({Layout::partial()});
    if (!split_on(query, 0, 1)) return refuse<MergeHeads>(query, "only whole heads can be split");
    return run_as<MergeHeads>({multiply(query.layout(0), 1, query.inputs[0].shape[2])});
}

ShardAnswer<Slice> shard(const Slice& op, const ShardQuery& query) {
    if (query.is(0, kRouted)) return need_whole<Slice>(0);
    if (query.is(0, kPartial)) return run_as<Slice>({Layout::partial()});
    if (!split_on(query, 0, 1)) return refuse<Slice>(query, "only features of a row can be split");
    const Range before{0, op.begin};
    const Range wanted{op.begin, op.begin + op.extent};
    std::vector<Segment> segments;
    int64_t begin = 0;
    for (const Segment& segment : query.layout(0).segments) {
        const Range part = intersect(wanted, {begin, begin + segment.extent});  // within the segment
        begin += segment.extent;
        if (part.empty()) continue;
        Segment cut{.extent = part.size()};
        for (const Range& has : segment.ranges) cut.ranges.push_back(intersect(has, part));
        segments.push_back(std::move(cut));
    }
    std::vector<Slice> ops(static_cast<size_t>(query.members));
    for (size_t member = 0; member < ops.size(); ++member) {
        for (const Range& piece : query.layout(0).pieces(static_cast<int>(member))) {
            ops[member].begin += intersect(piece, before).size();
            ops[member].extent += intersect(piece, wanted).size();
        }
    }
    ShardAnswer<Slice> answer = run_as<Slice>({Layout::split(1, std::move(segments))});
    answer.ops = std::move(ops);
    return answer;
}

ShardAnswer<GatherRows> shard(const GatherRows&, const ShardQuery& query) {
    if (!query.is(1, kMirrored)) return need_whole<GatherRows>(1);
    if (query.is(0, kSplit) && !split_on_last(query, 0))
        return refuse<GatherRows>(query, "only features of a row can be split");
    return run_as<GatherRows>({query.layout(0)});
}

// --- positions and attention

ShardAnswer<RopeAngles> shard(const RopeAngles&, const ShardQuery& query) {
    return need_whole<RopeAngles>(query.is(0, kMirrored) ? 1 : 0);
}

ShardAnswer<Rope> shard(const Rope&, const ShardQuery& query) {
    if (!query.is(1, kMirrored)) return need_whole<Rope>(1);
    if (query.is(0, kPartial)) return run_as<Rope>({Layout::partial()});
    if (!split_on(query, 0, 1)) return refuse<Rope>(query, "only whole heads can be split");
    return run_as<Rope>({query.layout(0)});
}

ShardAnswer<CopyPages> shard(const CopyPages&, const ShardQuery& query) {
    return run_as<CopyPages>({query.layouts.begin(), query.layouts.end()});
}

ShardAnswer<KvWrite> shard(const KvWrite&, const ShardQuery& query) {
    if (query.is(0, kPartial) || query.is(0, kRouted)) return need_whole<KvWrite>(0);
    if (query.layout(0) != query.layout(1))
        return refuse<KvWrite>(query, "the members' heads of values and state differ");
    return run_as<KvWrite>({query.layout(1)});
}

ShardAnswer<Attention> shard(const Attention& op, const ShardQuery& query) {
    if (const auto unfinished = first_unfinished(query)) return need_whole<Attention>(*unfinished);
    if (!split_on(query, 0, 1) || !one_stretch(query.layout(0)))
        return refuse<Attention>(query, "queries must be split by heads if keys or sinks are");
    const int64_t group =
        op.queries_per_kv > 0 ? op.queries_per_kv : query.inputs[0].shape[1] / query.inputs[1].shape[1];
    const bool kv_split = query.is(1, kSplit);
    if (query.layout(1) != query.layout(2) ||
        (kv_split && (!split_on(query, 1, 1) || !one_stretch(query.layout(1)))))
        return refuse<Attention>(query, "keys and values must be split by heads, at the same places");
    ShardAnswer<Attention> answer = run_as<Attention>({query.layout(0)});
    const std::vector<Range> queries = ranges_of(query.layout(0));
    for (size_t member = 0; member < queries.size(); ++member) {
        const Range& heads = queries[member];
        const Range kv = kv_split ? ranges_of(query.layout(1))[member] : Range{0, query.inputs[1].shape[1]};
        if (!heads.empty() && (heads.begin / group < kv.begin || (heads.end - 1) / group >= kv.end))
            return refuse<Attention>(query,
                                     fmt::format("member {} lacks key/value heads that its query heads "
                                                 "read",
                                                 member));
        Attention local = op;
        local.first_query_head += heads.begin;
        local.first_kv_head += kv.begin;
        local.queries_per_kv = group;
        answer.ops.push_back(local);
    }
    if (query.inputs.size() == 4) {
        const Layout wanted = Layout::split(0, query.layout(0).segments);
        if (query.is(3, kMirrored))
            answer.slices.push_back({3, wanted});
        else if (query.layout(3) != wanted)
            return refuse<Attention>(query, "the members' heads of queries and sinks differ");
    }
    return answer;
}

// Every member that has logits answers for them: as many answers, one member after the other, where a device
// of its own has one.
ShardAnswer<SampleCandidates> shard(const SampleCandidates& op, const ShardQuery& query) {
    if (query.is(0, kPartial) || query.is(0, kRouted)) return need_whole<SampleCandidates>(0);
    if (!split_on(query, 0, 1) || !one_stretch(query.layout(0)) || !query.layout(0).disjoint())
        return refuse<SampleCandidates>(query,
                                        "a member must have one stretch of the ids, and no two the same id");
    ShardAnswer<SampleCandidates> answer;
    std::vector<Range> answers;
    int64_t values = 0;
    for (const Range& ids : ranges_of(query.layout(0))) {
        answers.push_back({values, values + (ids.empty() ? 0 : op.answer_values())});
        values = answers.back().end;
        answer.ops.push_back({.count = op.count, .vocab_begin = op.vocab_begin + ids.begin});
    }
    answer.outputs = {Layout::split(1, values, std::move(answers))};
    return answer;
}

ShardAnswer<Tap> shard(const Tap&, const ShardQuery&) { return need_whole<Tap>(0); }

// --- of any op

namespace {

template <class OpType>
ShardAnswer<Op> general(ShardAnswer<OpType> answer) {
    // Every part by name: one more would not compile.
    auto& [outputs, ops, slices, margins, deferred, sums, once, decompose, gather, whole, refusal] = answer;
    return {.outputs = std::move(outputs),
            .ops = std::vector<Op>(ops.begin(), ops.end()),
            .slices = std::move(slices),
            .margins = std::move(margins),
            .deferred = deferred,
            .sums = sums,
            .once = once,
            .decompose = decompose,
            .gather = gather,
            .whole = whole,
            .refusal = std::move(refusal)};
}

}  // namespace

Decomposed decomposed(const Op& op, int64_t whole) {
    const auto* norm = std::get_if<RmsNorm>(&op);
    ENSURE(norm != nullptr, "only this norm is known in halves");
    return {SumSquares{}, RmsScale{.epsilon = norm->epsilon, .whole = whole}};
}

ShardAnswer<Op> op_shard(const Op& op, const ShardQuery& query) {
    return std::visit(
        [&](const auto& concrete) {
            const auto rule = concrete.descriptor().shard;
            if (rule != nullptr) return general(rule(concrete, query));
            ShardAnswer<Op> answer;
            answer.refusal = fmt::format("{} stands in the graph of one member, which is not cut again",
                                         concrete.descriptor().name);
            return answer;
        },
        op);
}

}  // namespace plait::ir
