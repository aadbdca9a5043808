#include "plait/plan/test_range_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace plait::plan::test {
namespace {

using ir::Layout;
using ir::LayoutKind;
using ir::Range;
using ir::Role;

std::vector<Range> in_units(const std::vector<Range>& ranges, int64_t width) {
    std::vector<Range> units;
    for (const Range& range : ranges) units.push_back({range.begin / width, range.end / width});
    return units;
}

std::string shares_fault(const std::vector<Range>& ranges, int64_t units, const CutOptions& cut,
                         int64_t granule) {
    const double sum = std::accumulate(cut.ratios.begin(), cut.ratios.end(), 0.0);
    int64_t begin = 0;
    for (size_t m = 0; m < ranges.size(); ++m) {
        if (ranges[m].begin != begin) return fmt::format("member {} does not begin at {}", m, begin);
        begin = ranges[m].end;
        if (cut.ratios[m] == 0.0 && !ranges[m].empty()) return fmt::format("member {} has something", m);
        const double ideal = cut.ratios[m] / sum * static_cast<double>(units);
        const double away = std::abs(static_cast<double>(ranges[m].size()) - ideal);
        if (away > std::max(static_cast<double>(granule), ideal / 16) + 1e-6)
            return fmt::format("member {} has {} instead of {}", m, ranges[m].size(), ideal);
    }
    return begin == units ? "" : fmt::format("{} of {} are given out", begin, units);
}

std::string kv_fault(const std::vector<Range>& kv, const std::vector<Range>& queries, int64_t group) {
    for (size_t m = 0; m < kv.size(); ++m) {
        if (queries[m].empty() && kv[m].empty()) continue;
        if (kv[m] != Range{queries[m].begin / group, (queries[m].end - 1) / group + 1})
            return fmt::format("member {} has other key/value heads than its queries read", m);
    }
    return {};
}

class RangesCheck {
  public:
    RangesCheck(const RandomModel& model, const Layouts& layouts) : model_(model), layouts_(layouts) {}

    std::string fault() const {
        for (size_t i = 0; i < model_.weights.size(); ++i) {
            const std::string fault = weight_fault(model_.weights[i], layouts_.weights[i]);
            if (!fault.empty()) return model_.weights[i].name + ": " + fault;
        }
        return state_fault();
    }

  private:
    using Ranges = std::vector<Range>;

    std::string weight_fault(const ir::WeightSpec& weight, const Layout& layout) const {
        if (!layout.is(LayoutKind::split)) return {};
        const ir::HeadCounts& heads = weight.cut.heads;
        const int64_t extent = weight.desc.shape[layout.axis];
        const auto ranges = [&](size_t segment, int64_t width) {
            return in_units(layout.segments[segment].ranges, width);
        };
        switch (weight.role()) {
            case Role::query:
            case Role::attention_output:
                return shares_fault(ranges(0, extent / heads.query), heads.query, model_.cut, 1);
            case Role::key_value:
                return kv_fault(ranges(0, extent / heads.kv), queries_of(weight), heads.queries_per_kv());
            case Role::fused_query_key_value:
                return fused_fault(layout, heads);
            case Role::fused_gate_up:
                if (layout.segments[0] != layout.segments[1]) return "gate and up differ";
                return shares_fault(ranges(0, 1), extent / 2, model_.cut, 1);
            case Role::embedding:
            case Role::tied_embedding:
            case Role::position_embedding:
                return shares_fault(ranges(0, 1), extent, model_.cut, layout.axis == 0 ? 1 : table_block());
            default:
                return shares_fault(ranges(0, 1), extent, model_.cut, 1);
        }
    }

    std::string fused_fault(const Layout& layout, const ir::HeadCounts& heads) const {
        const Ranges queries = in_units(layout.segments[0].ranges, heads.key_width);
        for (const std::string& fault :
             {shares_fault(queries, heads.query, model_.cut, 1),
              kv_fault(in_units(layout.segments[1].ranges, heads.key_width), queries, heads.queries_per_kv()),
              kv_fault(in_units(layout.segments[2].ranges, heads.value_width), queries,
                       heads.queries_per_kv())}) {
            if (!fault.empty()) return fault;
        }
        return {};
    }

    // Of the part's output projection, which every attention has.
    Ranges queries_of(const ir::WeightSpec& weight) const { return queries_of(weight.cut); }
    Ranges queries_of(const ir::Cut& cut) const {
        for (size_t i = 0; i < model_.weights.size(); ++i) {
            const ir::WeightSpec& other = model_.weights[i];
            if (other.cut.part == cut.part && other.role() == Role::attention_output)
                return in_units(layouts_.weights[i].segments[0].ranges, cut.heads.value_width);
        }
        return {};
    }

    std::string state_fault() const {
        size_t i = 0;
        for (const ir::StateGroupSpec& group : model_.groups) {
            for (const ir::StateTensorSpec& tensor : group.tensors) {
                const std::string fault = kv_fault(layouts_.state[i++].segments[0].ranges,
                                                   queries_of(tensor.cut), tensor.cut.heads.queries_per_kv());
                if (!fault.empty()) return tensor.name + ": " + fault;
            }
        }
        return {};
    }

    int64_t table_block() const { return dtype::info(model_.choices.input_type).block_elements; }

    const RandomModel& model_;
    const Layouts& layouts_;
};

}  // namespace

std::string ranges_fault(const RandomModel& model, const Layouts& layouts) {
    return RangesCheck(model, layouts).fault();
}

}  // namespace plait::plan::test
