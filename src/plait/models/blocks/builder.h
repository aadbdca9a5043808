#pragma once

#include <span>
#include <string>
#include <vector>

#include "plait/ir/graph.h"
#include "plait/models/model.h"
#include "plait/models/weight_table.h"

namespace plait::models {

// Where a state tensor is.
struct StatePlace {
    int32_t group = 0;
    int64_t window = 0;  // of the group
    int32_t index = 0;   // in the concatenation of the groups' tensors
};

// A graph being written: keeps the options, the weights' descriptions and the current version of every state
// tensor, so that blocks read like formulas. Nodes that apply a weight are called like its tensor without
// ".weight".
class Builder {
  public:
    // Starts with the page copies of every state group. `weights` and `groups` outlive the builder.
    Builder(const GraphOptions& options, std::span<const ir::WeightSpec> weights,
            std::span<const ir::StateGroupSpec> groups);

    ir::ValueId tokens() { return graph_.step_input(ir::StepInput::tokens); }
    ir::ValueId positions() { return graph_.step_input(ir::StepInput::positions); }
    ir::ValueId output_rows() { return graph_.step_input(ir::StepInput::output_rows); }
    ir::ValueId weight(WeightIndex index);
    // "blk.0.attn_q" for "blk.0.attn_q.weight"; the whole name for anything else.
    std::string node_name(WeightIndex index) const;

    // Appends a node; throws Error naming it when the operands do not fit the op.
    ir::ValueId add(const ir::Op& op, std::string name, std::vector<ir::ValueId> inputs);  // of one output
    std::vector<ir::ValueId> add_all(const ir::Op& op, std::string name, std::vector<ir::ValueId> inputs);

    // The state tensor of that name; ENSUREs that a group has it.
    StatePlace find_state(std::string_view name) const;
    // Its current version.
    ir::ValueId state(const StatePlace& place) const { return states_[static_cast<size_t>(place.index)]; }
    // `op` writes the tensor, of which it is given the current version behind `x`.
    void write_state(const ir::Op& op, std::string name, ir::ValueId x, const StatePlace& place);

    // x, shown to the host if the options ask for taps.
    ir::ValueId tap(std::string name, ir::ValueId x);

    // The graph's outputs are `logits` and, if the options ask for them, candidates.
    ir::Graph finish(ir::ValueId logits) &&;

  private:
    void copy_pages(std::span<const ir::StateGroupSpec> groups, std::span<const StatePages> pages);

    bool taps_;
    int64_t candidates_;
    int32_t tap_count_ = 0;
    std::span<const ir::WeightSpec> weights_;
    std::span<const ir::StateGroupSpec> groups_;
    std::vector<ir::ValueId> states_;
    ir::Graph graph_;
};

// "blk.<layer>.<part>".
std::string layer_name(int64_t layer, std::string_view part);

}  // namespace plait::models
