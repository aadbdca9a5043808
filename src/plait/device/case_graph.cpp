#include "plait/device/case_graph.h"

#include <algorithm>

#include "plait/base/cancel.h"

namespace plait::device::contract {

using ir::DType;
using ir::TensorDesc;
using ir::ValueId;
using ir::test::OpCase;

namespace {

bool is_state(const OpCase& op_case, size_t input) {
    const size_t last = op_case.inputs.size() - 1;
    if (std::holds_alternative<ir::CopyPages>(op_case.op)) return true;
    if (std::holds_alternative<ir::KvWrite>(op_case.op)) return input == last;
    if (std::holds_alternative<ir::Attention>(op_case.op)) return input == 1 || input == 2;
    return false;
}

// Whether the op works on chosen experts: input 1 has them all, input 2 the numbers of the chosen.
bool is_routed(const OpCase& op_case) {
    return std::holds_alternative<ir::MatmulExperts>(op_case.op) ||
           std::holds_alternative<ir::AddExpertBias>(op_case.op);
}

// Chosen experts' numbers can only come from a router: replaces the case's by what one chooses.
struct Router {
    ir::TopKExperts op;
    TestTensor logits;
};

Router use_router(OpCase& op_case) {
    TestTensor& ids = op_case.inputs[2];
    // As many as the operand has or, where it has a part of them, as the case's numbers tell.
    const std::vector<int32_t> numbers = ir::test::ids_of(ids);
    const int64_t experts = std::max<int64_t>(op_case.inputs[1].desc.shape[0],
                                              numbers.empty() ? 0 : *std::ranges::max_element(numbers) + 1);
    Router router{{.used = ids.desc.shape[1]},
                  ir::test::make_tensor({DType::F32, {ids.desc.shape[0], experts}, ir::Rows::tokens}, 77)};
    ids = ir::test::run_reference(router.op, {&router.logits, 1}, *op_case.step)[0];
    return router;
}

}  // namespace

CaseGraph::CaseGraph(OpCase op_case, int row_layout, int weight_layout)
    : case_(std::move(op_case)),
      row_layout_(row_layout),
      weight_layout_(weight_layout),
      graph_(case_.step->layout().capacity(),
             {case_.step->layout().groups().begin(), case_.step->layout().groups().end()}) {
    material_.block.assign(case_.step->block().begin(), case_.step->block().end());
    const ir::StepView step = view_of(graph_, material_.block);
    for (int32_t t = 0; t < *step.token_count; ++t) step.tokens[static_cast<size_t>(t)] = t;
    for (int32_t row = 0; row < *step.output_count; ++row) step.output_rows[static_cast<size_t>(row)] = row;
    std::vector<ValueId> inputs;
    const bool routed = is_routed(case_);
    const ValueId ids = routed ? route() : -1;
    for (size_t i = 0; i < case_.inputs.size(); ++i)
        inputs.push_back(routed && i == 2 ? ids : input(i, step));
    outputs_ = graph_.add(case_.op, "the op", inputs);
    if (ir::op_writes_state(case_.op) == ir::StateWrites::none) graph_.set_outputs(outputs_);
}

ValueId CaseGraph::route() {
    const Router router = use_router(case_);
    return graph_.add(router.op, "router", {feed(router.logits)})[0];
}

ValueId CaseGraph::input(size_t i, const ir::StepView& step) {
    const TestTensor& tensor = case_.inputs[i];
    if (is_state(case_, i)) return state(tensor);
    if (tensor.desc.rows == ir::Rows::fixed) return weight(tensor, weight_layout_);
    if (tensor.desc.type == DType::F32) return feed(tensor);
    return step_input(tensor, step);
}

ValueId CaseGraph::weight(const TestTensor& tensor, int layout) {
    const auto index = static_cast<int32_t>(material_.weights.size());
    material_.weights.push_back(tensor);
    material_.layouts.push_back(layout);
    return graph_.weight(index, {"weight", tensor.desc});
}

ValueId CaseGraph::state(const TestTensor& tensor) {
    const auto index = static_cast<int32_t>(material_.state.size());
    material_.state.push_back(tensor);
    return graph_.state(index, "state", tensor.desc);
}

ValueId CaseGraph::feed(TestTensor tensor) {
    const ir::Shape shape = tensor.desc.shape;
    const bool of_outputs = tensor.desc.rows == ir::Rows::outputs;
    tensor.desc = {DType::F32, {shape[0], tensor.desc.shape.elements() / shape[0]}};
    const ValueId table = weight(tensor, row_layout_);
    const auto rows = of_outputs ? ir::StepInput::output_rows : ir::StepInput::tokens;
    const ValueId flat = graph_.add(ir::Embed{}, "feed", {table, graph_.step_input(rows)})[0];
    return shape.rank() == 2 ? flat : graph_.add(ir::SplitHeads{shape[1]}, "feed", {flat})[0];
}

// The case's own numbers take the step's place.
ValueId CaseGraph::step_input(const TestTensor& tensor, const ir::StepView& step) {
    const auto replace = [&](std::span<int32_t> values, int32_t count) {
        std::copy_n(tensor.operand().as<int32_t>(), count, values.begin());
    };
    if (tensor.desc.rows == ir::Rows::outputs) {
        replace(step.output_rows, *step.output_count);
        return graph_.step_input(ir::StepInput::output_rows);
    }
    if (std::holds_alternative<ir::Embed>(case_.op)) {
        replace(step.tokens, *step.token_count);
        return graph_.step_input(ir::StepInput::tokens);
    }
    replace(step.positions, *step.token_count);
    return graph_.step_input(ir::StepInput::positions);
}

Support CaseGraph::support(const Device& device) const {
    const auto layout_of = [&](int32_t weight) {
        const int layout = material_.layouts[static_cast<size_t>(weight)];
        return device.describe().buffer_types[static_cast<size_t>(layout)].layout_id;
    };
    return device.supports(describe_op(graph_, node(), layout_of));
}

std::vector<TestTensor> CaseGraph::run_on(Device& device, Stream& stream) const {
    const auto program = device.compile(graph_, material_.layouts);
    const Resident resident(device, stream, material_);
    Slot slot(device, *program, resident);
    slot.write_step(stream, material_.block);
    StopWord stop;
    slot.run(stream, stop);
    std::vector<TestTensor> outputs;
    slot.read_outputs(stream, outputs);
    stream.synchronise();
    if (stop.stopped()) throw Error(stop.message());
    // The op's results are what was read back: outputs, or the state it wrote.
    return graph_.outputs().empty() ? resident.read_state(stream) : outputs;
}

double quantised_bound(const OpCase& op_case) {
    const bool product = std::holds_alternative<ir::Matmul>(op_case.op) ||
                         std::holds_alternative<ir::MatmulExperts>(op_case.op);
    if (!product || dtype::info(op_case.inputs[1].desc.type).block_elements == 1) return op_case.error_bound;
    // Rounding to 8 bits leaves about 1.6e-5 of what uniform values add up to. A single feature may be small
    // beside that.
    const ir::Shape& weight = op_case.inputs[1].desc.shape;
    return weight[weight.rank() - 2] == 1 ? 5e-3 : 1e-4;
}

bool has_weights(const OpCase& op_case) {
    for (size_t i = 0; i < op_case.inputs.size(); ++i) {
        if (!is_state(op_case, i) && op_case.inputs[i].desc.rows == ir::Rows::fixed) return true;
    }
    return false;
}

}  // namespace plait::device::contract
