#include "plait/plan/rows.h"

#include <algorithm>
#include <optional>

#include "plait/base/ensure.h"

namespace plait::plan {
namespace {

using ir::Layout;
using ir::LayoutKind;
using ir::Role;
using ir::ValueId;

constexpr int64_t kRowTile = 32;  // rows that kernels like to have together

// All of an axis on one member.
Layout all_on(int main, int axis, int64_t extent, size_t members) {
    std::vector<ir::Range> ranges(members);
    ranges[static_cast<size_t>(main)] = {0, extent};
    return Layout::split(axis, extent, std::move(ranges));
}

// Read by products alone; norms and sinks share the roles of queries and keys, but have a row for each head.
bool is_matrix(const ir::WeightSpec& weight) {
    if (weight.desc.shape.rank() != 2) return false;
    switch (weight.role()) {
        case Role::query:
            return weight.desc.shape[0] != weight.cut.heads.query || weight.cut.heads.key_width == 1;
        case Role::key_value:
            return weight.desc.shape[0] != weight.cut.heads.kv || weight.cut.heads.key_width == 1;
        case Role::fused_query_key_value:
        case Role::attention_output:
        case Role::ffn_up:
        case Role::fused_gate_up:
        case Role::ffn_down:
        case Role::vocabulary:
            return true;
        default:
            return false;
    }
}

class RowSharder {
  public:
    RowSharder(const ir::Graph& graph, const Layouts& layouts, int members, int main,
               const ShardOptions& options)
        : graph_(graph),
          layouts_(layouts),
          members_(members),
          main_(main),
          options_(options),
          local_(graph.values().size(), -1) {
        for (int m = 0; m < members; ++m)
            result_.graphs.emplace_back(graph.capacity(),
                                        std::vector(graph.groups().begin(), graph.groups().end()));
    }

    MemberGraphs run() {
        for (const ir::Node& node : graph_.nodes()) {
            if (cut_weight(node)) {
                spread(node);
            } else if (std::holds_alternative<ir::Tap>(node.op)) {
                show(node);
            } else {
                keep(node);
            }
        }
        std::vector<ValueId> outputs;
        for (const ValueId id : graph_.outputs()) {
            outputs.push_back(local(id));
            const ir::Shape& shape = graph_.value(id).desc.shape;
            result_.outputs.push_back(
                all_on(main_, shape.rank() - 1, shape.last(), static_cast<size_t>(members_)));
        }
        graph(main_).set_outputs(std::move(outputs));
        return std::move(result_);
    }

  private:
    ir::Graph& graph(int m) { return result_.graphs[static_cast<size_t>(m)]; }

    // A weight of a product that several members have rows of.
    std::optional<int32_t> cut_weight(const ir::Node& node) const {
        if (!std::holds_alternative<ir::Matmul>(node.op)) return std::nullopt;
        const ir::Value& weight = graph_.value(node.inputs[1]);
        if (weight.kind != ir::ValueKind::weight) return std::nullopt;
        const Layout& layout = layouts_.weights[static_cast<size_t>(weight.index)];
        const bool whole = layout.extent_of(main_) == layout.extent();
        return whole ? std::nullopt : std::optional(weight.index);
    }

    // On the main member.
    ValueId local(ValueId id) {
        ValueId& own = local_[static_cast<size_t>(id)];
        if (own < 0) own = source(main_, graph_.value(id));
        return own;
    }

    ValueId source(int m, const ir::Value& value) {
        switch (value.kind) {
            case ir::ValueKind::weight: {
                const Layout& layout = layouts_.weights[static_cast<size_t>(value.index)];
                return graph(m).weight(value.index, {value.name, ir::member_desc(value.desc, layout, m), {}});
            }
            case ir::ValueKind::state:
                return graph(m).state(value.index, value.name, value.desc);
            case ir::ValueKind::step_input:
                return graph(m).step_input(static_cast<ir::StepInput>(value.index));
            case ir::ValueKind::activation:
                break;
        }
        ENSURE(false, value.name);
    }

    void keep(const ir::Node& node) {
        std::vector<ValueId> inputs;
        for (const ValueId id : node.inputs) inputs.push_back(local(id));
        const std::vector<ValueId> made = graph(main_).add(node.op, node.name, std::move(inputs));
        for (size_t i = 0; i < made.size(); ++i) local_[static_cast<size_t>(node.outputs[i])] = made[i];
    }

    std::vector<ValueId> handed_out(const std::string& name, ValueId id) {
        const ir::Broadcast op{.whole = graph_.value(id).desc, .root = main_};
        result_.collectives.push_back({op, name, op.whole});
        std::vector<ValueId> everywhere;
        for (int m = 0; m < members_; ++m)
            everywhere.push_back(graph(m).add(
                op, name + ".input", m == main_ ? std::vector{local(id)} : std::vector<ValueId>{})[0]);
        for (int m = 0; options_.check_members && m < members_; ++m)
            graph(m).add(ir::CheckEqual{.unlike = true}, name + ".input",
                         {everywhere[static_cast<size_t>(m)]});
        return everywhere;
    }

    void spread(const ir::Node& node) {
        const ir::Value& weight = graph_.value(node.inputs[1]);
        const Layout& layout = layouts_.weights[static_cast<size_t>(weight.index)];
        const std::vector<ValueId> x = handed_out(node.name, node.inputs[0]);
        ir::AllGather gather{.whole = graph_.value(node.outputs[0]).desc, .root = main_};
        for (int m = 0; m < members_; ++m) gather.extents.push_back(layout.extent_of(m));
        result_.collectives.push_back({gather, node.name, gather.whole});
        for (int m = 0; m < members_; ++m) {
            std::vector<ValueId> piece;
            if (layout.extent_of(m) > 0)
                piece = graph(m).add(ir::Matmul{}, node.name, {x[static_cast<size_t>(m)], source(m, weight)});
            gather.member = m;
            const std::vector<ValueId> whole = graph(m).add(gather, node.name + ".gather", std::move(piece));
            if (m == main_) local_[static_cast<size_t>(node.outputs[0])] = whole[0];
        }
    }

    // Everybody pauses where the host looks at a value.
    void show(const ir::Node& node) {
        const std::vector<ValueId> x = handed_out(node.name, node.inputs[0]);
        for (int m = 0; m < members_; ++m) {
            const ValueId shown = graph(m).add(node.op, node.name, {x[static_cast<size_t>(m)]})[0];
            if (m == main_) local_[static_cast<size_t>(node.outputs[0])] = shown;
        }
    }

    const ir::Graph& graph_;
    const Layouts& layouts_;
    const int members_;
    const int main_;
    const ShardOptions options_;
    std::vector<ValueId> local_;  // by ValueId: the main member's value
    MemberGraphs result_;
};

}  // namespace

Layouts lay_out_rows(std::span<const ir::WeightSpec> weights, std::span<const ir::StateGroupSpec> groups,
                     std::span<const double> ratios, int main) {
    Layouts layouts;
    for (const ir::WeightSpec& weight : weights) {
        const int64_t rows = weight.desc.shape[0];
        const int64_t granules[] = {kRowTile};
        layouts.weights.push_back(is_matrix(weight)
                                      ? Layout::split(0, rows, cut_aligned(rows, ratios, granules, 0))
                                      : all_on(main, 0, rows, ratios.size()));
    }
    for (const ir::StateGroupSpec& group : groups) {
        for (const ir::StateTensorSpec& tensor : group.tensors)
            layouts.state.push_back(all_on(main, 1, tensor.heads, ratios.size()));
    }
    return layouts;
}

MemberGraphs shard_rows(const ir::Graph& graph, const Layouts& layouts, int members, int main,
                        const ShardOptions& options) {
    return RowSharder(graph, layouts, members, main, options).run();
}

}  // namespace plait::plan
