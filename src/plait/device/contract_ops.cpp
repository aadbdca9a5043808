#include <gmock/gmock.h>

#include "plait/device/case_graph.h"
#include "plait/device/contract_suite.h"

// Every op case on the device, in every weight layout it has, against the reference kernel.
namespace plait::device::contract {
namespace {

using ir::test::OpCase;

// Whether the device has a kernel for it; if it has not, it must say so.
bool is_supported(Device& device, const CaseGraph& graph) {
    if (graph.support(device)) return true;
    const std::string sentence =
        error_of([&] { (void)device.compile(graph.graph(), graph.material().layouts); });
    EXPECT_THAT(sentence, testing::HasSubstr("the op")) << graph.op_case().name;
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
            EXPECT_EQ(ir::test::difference(op_case, expected, graph.run_on(device(), stream()),
                                           GetParam().error_bound(op_case)),
                      "")
                << self.buffer_types[static_cast<size_t>(layout)].layout_id;
        }
        EXPECT_TRUE(supported > 0 || !GetParam().every_op) << op_case.name;
    }
}

// An op on a part of its operands computes the same bits as that part of the whole: members of one model
// agree with one that has it all. Nine query heads on two key/value heads of four, seven to a head.
TEST_P(DeviceContract, AttentionOfSomeHeadsGivesTheBitsOfTheWhole) {
    const int row_layout = device().describe().find_layout(kRowLayout);
    const auto step = std::make_shared<ir::test::TestStep>(small_step());
    for (ir::DType type : ir::test::cache_types()) {
        const ir::TensorDesc state{type, {12, 4, 4, 40}};
        OpCase whole{"whole",
                     ir::Attention{.scale = 0.3f, .alibi = {.max_bias = 8.0f, .all_heads = 28}},
                     {ir::test::make_tensor({ir::DType::F32, {8, 28, 40}, ir::Rows::tokens}, 1),
                      ir::test::make_tensor(state, 2), ir::test::make_tensor(state, 3)},
                     step};
        OpCase part = whole;
        auto& op = std::get<ir::Attention>(part.op);
        op.first_query_head = 9;
        op.first_kv_head = 1;
        op.queries_per_kv = 7;
        part.inputs[0] = ir::test::part_of(whole.inputs[0], 1, 9, 9);
        for (size_t i : {1, 2}) part.inputs[i] = ir::test::part_of(whole.inputs[i], 1, 1, 2);
        const auto run = [&](const OpCase& op_case) {
            return CaseGraph(op_case, row_layout, row_layout).run_on(device(), stream())[0];
        };
        const auto rows = static_cast<int64_t>(*step->view().token_count);
        const TestTensor expected = ir::test::part_of(ir::test::part_of(run(whole), 1, 9, 9), 0, 0, rows);
        EXPECT_EQ(ir::test::part_of(run(part), 0, 0, rows).bytes, expected.bytes) << dtype::info(type).name;
    }
}

// Heads in uneven groups, for a product that may want them quantised.
TEST_P(DeviceContract, AttentionOfUnevenGroupsFeedsAProduct) {
    const ir::test::TestStep step(small_step());
    ir::Graph graph(step.layout().capacity(), {step.layout().groups().begin(), step.layout().groups().end()});
    Material material;
    material.block.assign(step.block().begin(), step.block().end());
    const auto weight = [&](const ir::TensorDesc& desc) {
        const auto index = static_cast<int32_t>(material.weights.size());
        material.weights.push_back(ir::test::make_tensor(desc, 10 + static_cast<uint64_t>(index)));
        material.layouts.push_back(device().describe().find_layout(kRowLayout));
        return graph.weight(index, {"weight", desc});
    };
    const auto state = [&](int32_t index) {
        const ir::TensorDesc desc{ir::DType::F16, {12, 2, 4, 32}};
        material.state.push_back(ir::test::make_tensor(desc, 20 + static_cast<uint64_t>(index)));
        return graph.state(index, "state", desc);
    };
    const auto flat = graph.add(
        ir::Embed{}, "flat", {weight({ir::DType::F32, {32, 288}}), graph.step_input(ir::StepInput::tokens)});
    const auto q = graph.add(ir::SplitHeads{9}, "q", flat);
    const ir::Attention op{.scale = 0.3f, .first_query_head = 9, .first_kv_head = 1, .queries_per_kv = 7};
    const auto attended = graph.add(op, "attended", {q[0], state(0), state(1)});
    const auto merged = graph.add(ir::MergeHeads{}, "merged", attended);
    graph.set_outputs(graph.add(ir::Matmul{}, "product", {merged[0], weight({ir::DType::Q8_0, {64, 288}})}));
    const auto program = device().compile(graph, material.layouts);
    const Resident resident(device(), stream(), material);
    Slot slot(device(), *program, resident);
    StopWord stop;
    slot.write_step(stream(), material.block);
    slot.run(stream(), stop);
    std::vector<TestTensor> outputs;
    slot.read_outputs(stream(), outputs);
    stream().synchronise();
    EXPECT_LE(output_error(run_by_reference(graph, material).outputs, outputs, step.view()), 1e-4);
}

}  // namespace
}  // namespace plait::device::contract
