#include "plait/ir/graph.h"

#include <fmt/format.h>

#include "plait/base/ensure.h"
#include "plait/base/error.h"

namespace plait::ir {
namespace {

const char* step_input_name(StepInput input) {
    switch (input) {
        case StepInput::tokens:
            return "tokens";
        case StepInput::positions:
            return "positions";
        case StepInput::output_rows:
            return "output_rows";
    }
    return "";
}

TensorDesc step_input_desc(StepInput input, const Capacity& capacity) {
    switch (input) {
        case StepInput::tokens:
        case StepInput::positions:
            return {DType::I32, {capacity.tokens}, Rows::tokens};
        case StepInput::output_rows:
            return {DType::I32, {capacity.outputs}, Rows::outputs};
    }
    return {};
}

}  // namespace

std::byte* step_input_data(const StepView& step, StepInput input) {
    switch (input) {
        case StepInput::tokens:
            return reinterpret_cast<std::byte*>(step.tokens.data());
        case StepInput::positions:
            return reinterpret_cast<std::byte*>(step.positions.data());
        case StepInput::output_rows:
            return reinterpret_cast<std::byte*>(step.output_rows.data());
    }
    return nullptr;
}

ValueId Graph::source(ValueKind kind, int32_t index, const std::string& name, const TensorDesc& desc) {
    for (size_t id = 0; id < values_.size(); ++id) {
        const Value& value = values_[id];
        if (value.producer < 0 && value.kind == kind && value.index == index) {
            ENSURE(value.desc == desc, name);
            return static_cast<ValueId>(id);
        }
    }
    values_.push_back({kind, desc, name, index, -1});
    return static_cast<ValueId>(values_.size() - 1);
}

ValueId Graph::weight(int32_t index, const WeightSpec& spec) {
    return source(ValueKind::weight, index, spec.name, spec.desc);
}

ValueId Graph::state(int32_t index, const std::string& name, const TensorDesc& desc) {
    return source(ValueKind::state, index, name, desc);
}

ValueId Graph::step_input(StepInput input) {
    return source(ValueKind::step_input, static_cast<int32_t>(input), step_input_name(input),
                  step_input_desc(input, capacity_));
}

std::vector<ValueId> Graph::add(const Op& op, std::string name, std::vector<ValueId> inputs) {
    Node node{op, std::move(name), std::move(inputs), {}};
    std::vector<TensorDesc> descs;
    try {
        descs = op_infer(op, input_descs(node));
    } catch (const Error& error) {
        throw Error(fmt::format("{}: {}", node.name, error.what()));
    }
    const auto producer = static_cast<NodeId>(nodes_.size());
    const auto written =
        std::span(node.inputs).subspan(first_written(op_writes_state(op), node.inputs.size()));
    ENSURE(written.empty() || written.size() == descs.size(), node.name);
    for (size_t i = 0; i < descs.size(); ++i) {
        Value value{ValueKind::activation, descs[i], node.name, 0, producer};
        if (!written.empty()) {
            const Value& former = this->value(written[i]);
            ENSURE(former.kind == ValueKind::state, node.name);
            value.kind = ValueKind::state;
            value.name = former.name;
            value.index = former.index;
        }
        node.outputs.push_back(static_cast<ValueId>(values_.size()));
        values_.push_back(std::move(value));
    }
    nodes_.push_back(std::move(node));
    return nodes_.back().outputs;
}

std::vector<TensorDesc> Graph::input_descs(const Node& node) const {
    std::vector<TensorDesc> descs;
    for (ValueId id : node.inputs) descs.push_back(value(id).desc);
    return descs;
}

std::string Graph::text() const {
    std::string text;
    for (const Node& node : nodes_) {
        text += fmt::format("{} = {}(", node.name, op_name(node.op));
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            const Value& input = value(node.inputs[i]);
            text += fmt::format("{}{} {}", i == 0 ? "" : ", ", input.name, input.desc.text());
        }
        text += ") ->";
        for (ValueId id : node.outputs) text += " " + value(id).desc.text();
        text += "\n";
    }
    return text;
}

}  // namespace plait::ir
