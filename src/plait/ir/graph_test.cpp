#include "plait/ir/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plait/base/error.h"

namespace plait::ir {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Graph make_graph() { return Graph({.tokens = 4, .outputs = 2, .sequences = 1}, {{16, 8}}); }

const WeightSpec kTable{"token_embd.weight", {DType::F16, {10, 32}}, Role::embedding};
const WeightSpec kUp{"blk.0.ffn_up.weight", {DType::Q8_0, {24, 32}}, Role::ffn_up};
const TensorDesc kState{DType::F16, {8, 2, 16, 16}};

TEST(Graph, GivesOneValuePerSource) {
    Graph graph = make_graph();
    const ValueId table = graph.weight(0, kTable);
    EXPECT_NE(graph.weight(1, kUp), table);
    EXPECT_EQ(graph.weight(0, kTable), table);
    EXPECT_EQ(graph.step_input(StepInput::tokens), graph.step_input(StepInput::tokens));
    // The same index among another kind is another value.
    EXPECT_NE(graph.state(0, "blk.0.k", kState), table);
    EXPECT_EQ(graph.values().size(), 4u);
}

TEST(Graph, DescribesStepInputsByCapacity) {
    Graph graph = make_graph();
    EXPECT_EQ(graph.value(graph.step_input(StepInput::positions)).desc,
              (TensorDesc{DType::I32, {4}, Rows::tokens}));
    EXPECT_EQ(graph.value(graph.step_input(StepInput::output_rows)).desc,
              (TensorDesc{DType::I32, {2}, Rows::outputs}));
}

TEST(Graph, InfersOutputsAndKeepsOrder) {
    Graph graph = make_graph();
    const ValueId x =
        graph.add(Embed{}, "embed", {graph.weight(0, kTable), graph.step_input(StepInput::tokens)})[0];
    const ValueId up = graph.add(Matmul{}, "up", {x, graph.weight(1, kUp)})[0];
    graph.set_outputs({up});
    EXPECT_EQ(graph.value(up).desc, (TensorDesc{DType::F32, {4, 24}, Rows::tokens}));
    EXPECT_EQ(graph.value(up).producer, 1);
    EXPECT_EQ(graph.value(up).kind, ValueKind::activation);
    ASSERT_EQ(graph.nodes().size(), 2u);
    EXPECT_EQ(graph.nodes()[1].inputs[0], x);
    EXPECT_EQ(graph.text(),
              "embed = embed(token_embd.weight F16[10, 32], tokens I32[4]) -> F32[4, 32]\n"
              "up = matmul(embed F32[4, 32], blk.0.ffn_up.weight Q8_0[24, 32]) -> F32[4, 24]\n");
}

TEST(Graph, GivesBothOutputsOfAnOp) {
    Graph graph = make_graph();
    const WeightSpec router{"router", {DType::F32, {6, 32}}, Role::replicated};
    const ValueId x =
        graph.add(Embed{}, "embed", {graph.weight(0, kTable), graph.step_input(StepInput::tokens)})[0];
    const ValueId logits = graph.add(Matmul{}, "logits", {x, graph.weight(1, router)})[0];
    const std::vector<ValueId> chosen = graph.add(TopKExperts{.used = 2}, "choose", {logits});
    ASSERT_EQ(chosen.size(), 2u);
    EXPECT_EQ(graph.value(chosen[0]).desc.type, DType::I32);
    EXPECT_EQ(graph.value(chosen[1]).desc.type, DType::F32);
}

TEST(Graph, MakesNewVersionsOfWrittenState) {
    Graph graph = make_graph();
    const ValueId table = graph.weight(0, kTable);
    const ValueId k = graph.state(3, "blk.1.k", kState);
    const ValueId x = graph.add(Embed{}, "embed", {table, graph.step_input(StepInput::tokens)})[0];
    const ValueId heads = graph.add(SplitHeads{.heads = 2}, "split", {x})[0];
    const ValueId written = graph.add(KvWrite{}, "write", {heads, k})[0];
    EXPECT_NE(written, k);
    EXPECT_EQ(graph.value(written).kind, ValueKind::state);
    EXPECT_EQ(graph.value(written).index, 3);
    EXPECT_EQ(graph.value(written).name, "blk.1.k");
    EXPECT_EQ(graph.value(written).desc, kState);
    // Asked for again, a state tensor is the version from before the step.
    EXPECT_EQ(graph.state(3, "blk.1.k", kState), k);
}

TEST(Graph, CopiesPagesOfMoreTensorsThanAMaskHasBits) {
    Graph graph = make_graph();
    std::vector<ValueId> states;
    for (int32_t i = 0; i < 160; ++i) states.push_back(graph.state(i, "state", kState));
    const std::vector<ValueId> copied = graph.add(CopyPages{}, "copy", states);
    ASSERT_EQ(copied.size(), 160u);
    for (int32_t i = 0; i < 160; ++i) {
        EXPECT_EQ(graph.value(copied[static_cast<size_t>(i)]).kind, ValueKind::state);
        EXPECT_EQ(graph.value(copied[static_cast<size_t>(i)]).index, i);
    }
}

TEST(Graph, NamesTheNodeThatDoesNotFit) {
    Graph graph = make_graph();
    const ValueId table = graph.weight(0, kTable);
    EXPECT_THAT(
        [&] {
            graph.add(Matmul{}, "blk.0.ffn_up", {table, table});
        },
        ThrowsMessage<Error>("blk.0.ffn_up: matmul: expected x as F32 [rows, in], found F16[10, 32]"));
    EXPECT_THAT([&] { graph.add(Embed{}, "embed", {table}); },
                ThrowsMessage<Error>("embed: embed: expected 2 operands, found 1"));
    EXPECT_TRUE(graph.nodes().empty());
}

TEST(OpList, NamesEveryOpOnce) {
    std::vector<std::string> names;
    for (OpId id = 0; id < kOpCount; ++id) names.emplace_back(op_name(id));
    EXPECT_THAT(names, testing::Contains("matmul_experts"));
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
    EXPECT_EQ(op_name(op_id(Op(Tap{}))), op_name(Op(Tap{})));
    EXPECT_EQ(op_id_of<Rope>(), op_id(Op(Rope{})));
}

TEST(OpList, KnowsWhichInputsAreWritten) {
    EXPECT_EQ(op_writes_state(Op(Matmul{})), StateWrites::none);
    EXPECT_EQ(op_writes_state(Op(KvWrite{})), StateWrites::last_input);
    EXPECT_EQ(op_writes_state(Op(CopyPages{})), StateWrites::all_inputs);
    EXPECT_EQ(first_written(StateWrites::none, 3), 3u);
    EXPECT_EQ(first_written(StateWrites::last_input, 3), 2u);
    EXPECT_EQ(first_written(StateWrites::all_inputs, 3), 0u);
}

TEST(OpList, KnowsViewsHostActionsAndLinearOperands) {
    EXPECT_TRUE(op_is_view(Op(SplitHeads{})));
    EXPECT_TRUE(op_is_view(Op(Tap{})));
    EXPECT_FALSE(op_is_view(Op(Slice{})));
    EXPECT_TRUE(op_is_host_action(Op(Tap{})));
    EXPECT_FALSE(op_is_host_action(Op(MergeHeads{})));
    EXPECT_TRUE(op_is_host_action(Op(Exchange{})));
    EXPECT_FALSE(op_is_view(Op(Exchange{})));
    EXPECT_EQ(op_linear_in(Op(GatherRows{})), 1u);
    EXPECT_EQ(op_linear_in(Op(RmsNorm{})), 0u);
    EXPECT_EQ(op_linear_in(Op(Add{})), 0u);
}

TEST(OpListDeathTest, RunsNoReferenceOfAView) { EXPECT_DEATH(op_reference(MergeHeads{}, {}), "merge_heads"); }

}  // namespace
}  // namespace plait::ir
