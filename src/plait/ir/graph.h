#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plait/ir/ops/list.h"
#include "plait/ir/step.h"
#include "plait/ir/weights.h"

// What is to be computed for one capacity: values and the ops between them, in an order that can be run. No
// storage, no device, no rank.
namespace plait::ir {

using ValueId = int32_t;
using NodeId = int32_t;

enum class ValueKind : uint8_t {
    activation,  // made by a node
    weight,      // index: place in the model's list of weights
    step_input,  // index: a StepInput
    state,  // index: place in the model's list of state tensors, over all groups; nodes make new versions of
            // it
};

// The step's data that ops take as operands. Everything else about a step is found through StepView.
enum class StepInput : uint8_t { tokens, positions, output_rows };

// Where a step's data for an operand lies: int32 values, as many as the input's extent.
std::byte* step_input_data(const StepView& step, StepInput input);

struct Value {
    ValueKind kind = ValueKind::activation;
    TensorDesc desc;
    std::string name;
    int32_t index = 0;
    NodeId producer = -1;  // -1 for what no node makes
};

struct Node {
    Op op;
    std::string name;
    std::vector<ValueId> inputs;
    std::vector<ValueId> outputs;
};

class Graph {
  public:
    Graph(const Capacity& capacity, std::vector<StepGroupLimits> groups)
        : capacity_(capacity), groups_(std::move(groups)) {}

    // Sources. A weight or state tensor asked for twice is the same value; a name makes messages readable.
    ValueId weight(int32_t index, const WeightSpec& spec);
    ValueId state(int32_t index, const std::string& name, const TensorDesc& desc);
    ValueId step_input(StepInput input);

    // Appends a node; returns its outputs. Throws Error naming the node when the operands do not fit the op.
    std::vector<ValueId> add(const Op& op, std::string name, std::vector<ValueId> inputs);

    // What the host reads after a step, in order.
    void set_outputs(std::vector<ValueId> outputs) { outputs_ = std::move(outputs); }

    const Capacity& capacity() const { return capacity_; }
    std::span<const StepGroupLimits> groups() const { return groups_; }
    std::span<const Node> nodes() const { return nodes_; }
    std::span<const Value> values() const { return values_; }
    std::span<const ValueId> outputs() const { return outputs_; }
    const Value& value(ValueId id) const { return values_[static_cast<size_t>(id)]; }

    // The descriptions of a node's inputs, in order.
    std::vector<TensorDesc> input_descs(const Node& node) const;

    // One line per node, for logs and tests.
    std::string text() const;

  private:
    ValueId source(ValueKind kind, int32_t index, const std::string& name, const TensorDesc& desc);

    Capacity capacity_;
    std::vector<StepGroupLimits> groups_;
    std::vector<Value> values_;
    std::vector<Node> nodes_;
    std::vector<ValueId> outputs_;
};

}  // namespace plait::ir
