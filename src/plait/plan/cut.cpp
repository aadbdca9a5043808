#include "plait/plan/cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>

#include "plait/base/ensure.h"
#include "plait/base/error.h"
#include "plait/dtype/dtype.h"

namespace plait::plan {
namespace {

using ir::Layout;
using ir::Range;
using ir::Role;

// Activations are quantised in blocks of so many values, so borders between them change nothing.
constexpr int64_t kActivationBlock = 32;
// Rows that kernels like to have together.
constexpr int64_t kRowTile = 32;
// A border may move by 1/16 of a share for the sake of alignment.
constexpr double kMayMove = 1.0 / 16;

bool close_enough(std::span<const Range> ranges, int64_t units, std::span<const double> ratios) {
    const double sum = std::accumulate(ratios.begin(), ratios.end(), 0.0);
    for (size_t member = 0; member < ratios.size(); ++member) {
        const double ideal = ratios[member] / sum * static_cast<double>(units);
        if (std::abs(static_cast<double>(ranges[member].size()) - ideal) > ideal * kMayMove) return false;
    }
    return true;
}

int64_t block_of(const ir::WeightSpec& weight) { return dtype::info(weight.desc.type).block_elements; }

// What one attention or feed-forward network is made of.
struct Part {
    std::string kind;  // parts of one kind take turns
    int turn = 0;
    ir::HeadCounts heads;       // of an attention
    int64_t inner_width = 0;    // of a feed-forward network
    int64_t experts = 0;        // stacked ones
    int64_t block = 1;          // in which all weights read along the cut can be torn
    std::vector<Range> ranges;  // query heads, inner features, or experts
    std::vector<Range> kv;      // key/value heads
};

class Cutter {
  public:
    Cutter(std::span<const ir::WeightSpec> weights, std::span<const ir::StateGroupSpec> groups,
           const CutOptions& options)
        : weights_(weights), groups_(groups), options_(options) {}

    Layouts cut() {
        for (size_t group = 0; group < groups_.size(); ++group) {
            for (const ir::StateTensorSpec& tensor : groups_[group].tensors) note_state(tensor, group);
        }
        for (const ir::WeightSpec& weight : weights_) note_weight(weight);
        take_turns();
        for (auto& [name, part] : parts_) cut_part(part);
        Layouts layouts;
        for (const ir::WeightSpec& weight : weights_) layouts.weights.push_back(layout_of(weight));
        for (const ir::StateGroupSpec& group : groups_) {
            for (const ir::StateTensorSpec& tensor : group.tensors)
                layouts.state.push_back(Layout::split(1, tensor.heads, part_of(tensor.cut).kv));
        }
        return layouts;
    }

  private:
    Part& part_of(const ir::Cut& cut) {
        const auto found = parts_.find(cut.part);
        if (found != parts_.end()) return found->second;
        order_.push_back(cut.part);
        return parts_[cut.part];
    }

    void note_state(const ir::StateTensorSpec& tensor, size_t group) {
        Part& part = part_of(tensor.cut);
        part.kind = fmt::format("attention of group {}", group);
        part.heads = tensor.cut.heads;
    }

    void note_weight(const ir::WeightSpec& weight) {
        if (weight.cut.part.empty()) return;
        Part& part = part_of(weight.cut);
        const ir::Shape& shape = weight.desc.shape;
        switch (weight.role()) {
            case Role::ffn_down:
                part.kind = "network";
                part.inner_width = shape[1];
                part.block = std::lcm(part.block, block_of(weight));
                break;
            case Role::expert_down:
                part.kind = "experts";
                part.experts = shape[0];
                part.inner_width = shape[2];
                part.block = std::lcm(part.block, block_of(weight));
                break;
            case Role::attention_output:
                part.block = std::lcm(part.block, block_of(weight));
                break;
            default:
                break;
        }
    }

    // Counted among parts of the same kind, in the model's order.
    void take_turns() {
        std::map<std::string, int> seen;
        for (const std::string& name : order_) {
            Part& part = parts_[name];
            part.turn = seen[part.kind]++ % options_.members();
        }
    }

    std::vector<Range> aligned(int64_t units, std::initializer_list<int64_t> granules, int first) const {
        return cut_aligned(units, options_.ratios, std::span(granules.begin(), granules.size()), first);
    }

    void cut_part(Part& part) const {
        if (part.heads.query > 0) return cut_heads(part);
        if (part.experts > 0 && options_.experts == ExpertSplit::experts) {
            part.ranges = cut_units(part.experts, options_.ratios, 1, part.turn);
            return;
        }
        part.ranges =
            aligned(part.inner_width, {std::lcm(part.block, kActivationBlock), part.block, kActivationBlock},
                    part.turn);
    }

    // Every member has the key/value heads that its query heads read, so two may have the same one.
    void cut_heads(Part& part) const {
        const int64_t group = part.heads.queries_per_kv();
        const int64_t width = part.heads.value_width;
        const int64_t block = part.block / std::gcd(part.block, width);
        part.ranges = aligned(part.heads.query, {std::lcm(group, block), group, block}, part.turn);
        for (const Range& range : part.ranges) {
            part.kv.push_back(range.empty() ? Range{}
                                            : Range{range.begin / group, (range.end + group - 1) / group});
        }
    }

    Layout layout_of(const ir::WeightSpec& weight) {
        const ir::Shape& shape = weight.desc.shape;
        const bool by_experts = options_.experts == ExpertSplit::experts;
        switch (weight.role()) {
            case Role::replicated:
                return Layout::mirrored();
            case Role::position_embedding:
            case Role::embedding:
                return embedding(weight, options_.embedding);
            case Role::tied_embedding:
                return embedding(weight, options_.embedding == EmbeddingSplit::automatic
                                             ? EmbeddingSplit::vocabulary
                                             : options_.embedding);
            case Role::vocabulary:
                return Layout::split(0, shape[0], aligned(shape[0], {kRowTile}, 0));
            case Role::query:
                return by_heads(0, shape[0], part_of(weight.cut).ranges, weight.cut.heads.query);
            case Role::key_value:
                return by_heads(0, shape[0], part_of(weight.cut).kv, weight.cut.heads.kv);
            case Role::fused_query_key_value:
                return fused_heads(weight.cut);
            case Role::attention_output:
                return by_heads(1, shape[1], part_of(weight.cut).ranges, weight.cut.heads.query);
            case Role::ffn_up:
                return inner(0, weight.cut);
            case Role::fused_gate_up: {
                const Layout one = inner(0, weight.cut);
                return Layout::split(0, {one.segments[0], one.segments[0]});
            }
            case Role::ffn_down:
                return inner(1, weight.cut);
            case Role::expert_up:
                return by_experts ? whole_experts(weight.cut) : inner(1, weight.cut);
            case Role::expert_down:
                return by_experts ? whole_experts(weight.cut) : inner(2, weight.cut);
            case Role::expert_down_bias:
                return by_experts ? whole_experts(weight.cut) : Layout::mirrored();
        }
        ENSURE(false, "every role has a layout");
    }

    Layout embedding(const ir::WeightSpec& weight, EmbeddingSplit split) const {
        const ir::Shape& shape = weight.desc.shape;
        const bool positions = weight.role() == Role::position_embedding;
        switch (split) {
            case EmbeddingSplit::automatic:
            case EmbeddingSplit::mirrored:
                return Layout::mirrored();
            case EmbeddingSplit::vocabulary:
                if (positions) return Layout::mirrored();
                return Layout::split(0, shape[0], aligned(shape[0], {kRowTile}, 0));
            case EmbeddingSplit::hidden:
                return Layout::split(1, shape[1], cut_units(shape[1], options_.ratios, hidden_granule(), 0));
        }
        ENSURE(false, "every choice has a layout");
    }

    // Tables are added feature by feature, so all are cut at the same places, and never inside blocks.
    int64_t hidden_granule() const {
        int64_t granule = 1;
        for (const ir::WeightSpec& weight : weights_) {
            const Role role = weight.role();
            if (role == Role::embedding || role == Role::tied_embedding || role == Role::position_embedding)
                granule = std::lcm(granule, block_of(weight));
        }
        return granule;
    }

    static Layout by_heads(int axis, int64_t extent, const std::vector<Range>& ranges, int64_t heads) {
        return ir::multiply(Layout::split(axis, heads, ranges), axis, extent / heads);
    }

    Layout fused_heads(const ir::Cut& cut) {
        const Part& part = part_of(cut);
        const ir::HeadCounts& heads = cut.heads;
        std::vector<ir::Segment> segments;
        const auto add = [&](const std::vector<Range>& ranges, int64_t count, int64_t width) {
            segments.push_back(ir::multiply(Layout::split(0, count, ranges), 0, width).segments[0]);
        };
        add(part.ranges, heads.query, heads.key_width);
        add(part.kv, heads.kv, heads.key_width);
        add(part.kv, heads.kv, heads.value_width);
        return Layout::split(0, std::move(segments));
    }

    Layout inner(int axis, const ir::Cut& cut) {
        const Part& part = part_of(cut);
        return Layout::split(axis, part.inner_width, part.ranges);
    }

    Layout whole_experts(const ir::Cut& cut) {
        const Part& part = part_of(cut);
        return Layout::split(0, part.experts, part.ranges);
    }

    std::span<const ir::WeightSpec> weights_;
    std::span<const ir::StateGroupSpec> groups_;
    const CutOptions& options_;
    std::map<std::string, Part> parts_;
    std::vector<std::string> order_;
};

}  // namespace

void check_ratios(std::span<const double> ratios) {
    double sum = 0;
    for (size_t member = 0; member < ratios.size(); ++member) {
        if (!(ratios[member] >= 0) || !std::isfinite(ratios[member]))
            throw Error(fmt::format("the share of member {} must be a number from 0 on, found {}", member,
                                    ratios[member]));
        sum += ratios[member];
    }
    if (sum == 0) throw Error("the members' shares must not all be 0: somebody has to hold the model");
    if (!std::isfinite(sum)) throw Error("the members' shares are too large to be added up");
}

std::vector<Range> cut_units(int64_t units, std::span<const double> ratios, int64_t granule, int first) {
    const size_t members = ratios.size();
    const auto member_at = [&](size_t place) { return (static_cast<size_t>(first) + place) % members; };
    std::vector<double> reached(members);  // sums of ratios, in the order of rounding
    double sum = 0;
    for (size_t place = 0; place < members; ++place) reached[place] = sum += ratios[member_at(place)];
    ENSURE(sum > 0, "ratios are checked");

    std::vector<int64_t> sizes(members);
    int64_t border = 0;
    for (size_t place = 0; place < members; ++place) {
        // A whisker above, so that a border which is exact in numbers is exact here.
        const double exact = reached[place] / sum * static_cast<double>(units) / static_cast<double>(granule);
        const auto whole = static_cast<int64_t>(std::floor(exact * (1 + 1e-12) + 1e-9)) * granule;
        const int64_t end = reached[place] == sum ? units : std::min(whole, units);
        sizes[member_at(place)] = end - border;
        border = end;
    }
    std::vector<Range> ranges;
    int64_t begin = 0;
    for (const int64_t size : sizes) {
        ranges.push_back({begin, begin + size});
        begin += size;
    }
    return ranges;
}

std::vector<Range> cut_aligned(int64_t units, std::span<const double> ratios,
                               std::span<const int64_t> granules, int first) {
    for (const int64_t granule : granules) {
        std::vector<Range> ranges = cut_units(units, ratios, granule, first);
        if (close_enough(ranges, units, ratios)) return ranges;
    }
    return cut_units(units, ratios, 1, first);
}

Layouts lay_out(std::span<const ir::WeightSpec> weights, std::span<const ir::StateGroupSpec> groups,
                const CutOptions& options) {
    return Cutter(weights, groups, options).cut();
}

}  // namespace plait::plan
