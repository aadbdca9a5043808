#include <gmock/gmock.h>

#include <algorithm>

#include "plait/base/cancel.h"
#include "plait/device/contract_kit.h"
#include "plait/device/contract_suite.h"

// Every op case on the device, in every weight layout it has, against the reference kernel.
namespace plait::device::contract {
namespace {

using ir::DType;
using ir::TensorDesc;
using ir::ValueId;
using ir::test::OpCase;

bool is_state(const OpCase& op_case, size_t input) {
    const size_t last = op_case.inputs.size() - 1;
    if (std::holds_alternative<ir::CopyPages>(op_case.op)) return true;
    if (std::holds_alternative<ir::KvWrite>(op_case.op)) return input == last;
    if (std::holds_alternative<ir::Attention>(op_case.op)) return input > 0;
    return false;
}

// Chosen experts' numbers can only come from a router: replaces the case's by what one chooses.
struct Router {
    ir::TopKExperts op;
    TestTensor logits;
};

Router use_router(OpCase& op_case) {
    TestTensor& ids = op_case.inputs[2];
    const int64_t experts = op_case.inputs[1].desc.shape[0];
    Router router{{.used = ids.desc.shape[1]},
                  ir::test::make_tensor({DType::F32, {ids.desc.shape[0], experts}, ir::Rows::tokens}, 77)};
    ids = ir::test::run_reference(router.op, {&router.logits, 1}, *op_case.step)[0];
    return router;
}

// A case as a graph of one op, the op's weights in one layout. F32 operands with a row per token come from
// tables of which token t reads row t.
class CaseGraph {
  public:
    CaseGraph(OpCase op_case, int row_layout, int weight_layout)
        : case_(std::move(op_case)),
          row_layout_(row_layout),
          weight_layout_(weight_layout),
          graph_(case_.step->layout().capacity(),
                 {case_.step->layout().groups().begin(), case_.step->layout().groups().end()}) {
        material_.block.assign(case_.step->block().begin(), case_.step->block().end());
        const ir::StepView step = view_of(graph_, material_.block);
        for (int32_t t = 0; t < *step.token_count; ++t) step.tokens[static_cast<size_t>(t)] = t;
        std::vector<ValueId> inputs;
        const bool routed = std::holds_alternative<ir::MatmulExperts>(case_.op);
        const ValueId ids = routed ? route() : -1;
        for (size_t i = 0; i < case_.inputs.size(); ++i)
            inputs.push_back(routed && i == 2 ? ids : input(i, step));
        outputs_ = graph_.add(case_.op, "the op", inputs);
        if (ir::op_writes_state(case_.op) == ir::StateWrites::none) graph_.set_outputs(outputs_);
    }

    const ir::Graph& graph() const { return graph_; }
    const Material& material() const { return material_; }
    const OpCase& op_case() const { return case_; }
    const ir::Node& node() const { return graph_.nodes().back(); }

    // The op's results among what was read back.
    std::vector<TestTensor> results(std::vector<TestTensor> outputs, std::vector<TestTensor> state) const {
        return graph_.outputs().empty() ? std::move(state) : std::move(outputs);
    }

  private:
    ValueId route() {
        const Router router = use_router(case_);
        return graph_.add(router.op, "router", {feed(router.logits)})[0];
    }

    ValueId input(size_t i, const ir::StepView& step) {
        const TestTensor& tensor = case_.inputs[i];
        if (is_state(case_, i)) return state(tensor);
        if (tensor.desc.rows == ir::Rows::fixed) return weight(tensor, weight_layout_);
        if (tensor.desc.type == DType::F32) return feed(tensor);
        return step_input(tensor, step);
    }

    ValueId weight(const TestTensor& tensor, int layout) {
        const auto index = static_cast<int32_t>(material_.weights.size());
        material_.weights.push_back(tensor);
        material_.layouts.push_back(layout);
        return graph_.weight(index, {"weight", tensor.desc});
    }

    ValueId state(const TestTensor& tensor) {
        const auto index = static_cast<int32_t>(material_.state.size());
        material_.state.push_back(tensor);
        return graph_.state(index, "state", tensor.desc);
    }

    ValueId feed(TestTensor tensor) {
        const ir::Shape shape = tensor.desc.shape;
        tensor.desc = {DType::F32, {shape[0], tensor.desc.shape.elements() / shape[0]}};
        const ValueId table = weight(tensor, row_layout_);
        const ValueId flat =
            graph_.add(ir::Embed{}, "feed", {table, graph_.step_input(ir::StepInput::tokens)})[0];
        return shape.rank() == 2 ? flat : graph_.add(ir::SplitHeads{shape[1]}, "feed", {flat})[0];
    }

    // The case's own numbers take the step's place.
    ValueId step_input(const TestTensor& tensor, const ir::StepView& step) {
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

    OpCase case_;
    const int row_layout_;
    const int weight_layout_;
    ir::Graph graph_;
    Material material_;
    std::vector<ValueId> outputs_;
};

std::vector<TestTensor> run_on(Device& device, Stream& stream, const CaseGraph& graph) {
    const auto program = device.compile(graph.graph(), graph.material().layouts);
    const Resident resident(device, stream, graph.material());
    Slot slot(device, *program, resident);
    slot.write_step(stream, graph.material().block);
    StopWord stop;
    slot.run(stream, stop);
    std::vector<TestTensor> outputs;
    slot.read_outputs(stream, outputs);
    stream.synchronise();
    EXPECT_EQ(stop.message(), "");
    return graph.results(std::move(outputs), resident.read_state(stream));
}

// Whether the device has a kernel for it; if it has not, it must say so.
bool is_supported(Device& device, const CaseGraph& graph) {
    const auto layout_of = [&](int32_t weight) {
        const int layout = graph.material().layouts[static_cast<size_t>(weight)];
        return device.describe().buffer_types[static_cast<size_t>(layout)].layout_id;
    };
    const Support support = device.supports(describe_op(graph.graph(), graph.node(), layout_of));
    if (support) return true;
    const std::string sentence =
        error_of([&] { (void)device.compile(graph.graph(), graph.material().layouts); });
    EXPECT_THAT(sentence, testing::HasSubstr("the op")) << graph.op_case().name;
    return false;
}

bool has_weights(const OpCase& op_case) {
    for (size_t i = 0; i < op_case.inputs.size(); ++i) {
        if (!is_state(op_case, i) && op_case.inputs[i].desc.rows == ir::Rows::fixed) return true;
    }
    return false;
}

TEST_P(DeviceContract, ComputesEveryOpCaseInEveryLayout) {
    const DeviceDescription& self = device().describe();
    const int row_layout = self.find_layout(kRowLayout);
    for (const OpCase& op_case : ir::test::op_cases()) {
        int supported = 0;
        for (int layout = 0; layout < static_cast<int>(self.buffer_types.size()); ++layout) {
            if (!has_weights(op_case) && layout != row_layout) continue;
            const CaseGraph graph(op_case, row_layout, layout);
            if (!is_supported(device(), graph)) continue;
            ++supported;
            const auto expected = ir::test::run_reference(op_case.op, graph.op_case().inputs, *op_case.step);
            EXPECT_EQ(ir::test::difference(op_case, expected, run_on(device(), stream(), graph),
                                           GetParam().error_bound(op_case)),
                      "")
                << self.buffer_types[static_cast<size_t>(layout)].layout_id;
        }
        EXPECT_TRUE(supported > 0 || !GetParam().every_op) << op_case.name;
    }
}

}  // namespace
}  // namespace plait::device::contract
