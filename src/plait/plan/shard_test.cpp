#include "plait/plan/shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

// Rules and the pass by example; any model on any members is shard_property_test.cpp's affair.
namespace plait::plan {
namespace {

using ir::DType;
using ir::Layout;
using ir::Range;
using ir::TensorDesc;
using testing::HasSubstr;

const TensorDesc kIds{DType::I32, {4}, ir::Rows::tokens};
const TensorDesc kChosen{DType::I32, {4, 2}, ir::Rows::tokens};
const TensorDesc kRow{DType::F32, {4, 8}, ir::Rows::tokens};
const TensorDesc kSlots{DType::F32, {4, 2, 8}, ir::Rows::tokens};
const TensorDesc kExperts{DType::F32, {4, 8, 8}};

ir::ShardAnswer<ir::Op> ask(const ir::Op& op, std::vector<TensorDesc> inputs, std::vector<Layout> layouts) {
    return ir::op_shard(op, {.inputs = inputs, .layouts = layouts, .members = 2});
}

Layout experts(Range first, Range second) { return Layout::split(0, 4, {first, second}); }
Layout routed(Range first, Range second) { return Layout::routed(experts(first, second).segments); }

TEST(EmbedRule, FeaturesAreCutBetweenBlocksOnly) {
    const TensorDesc table{DType::Q8_0, {10, 64}};
    const auto fair = ask(ir::Embed{}, {table, kIds}, {Layout::split(1, 64, {{0, 32}, {32, 64}}), {}});
    EXPECT_EQ(fair.refusal, "");
    EXPECT_TRUE(fair.gather);
    const auto torn = ask(ir::Embed{}, {table, kIds}, {Layout::split(1, 64, {{0, 31}, {31, 64}}), {}});
    EXPECT_THAT(torn.refusal, HasSubstr("a border goes through a block"));
}

TEST(EmbedRule, PiecesMakeUpARow) {
    const TensorDesc table{DType::F32, {10, 8}};
    for (const Layout& layout : {Layout::split(1, 8, {{0, 5}, {4, 8}}), Layout::split(1, 8, {{4, 8}, {0, 4}}),
                                 Layout::split(1, {{4, {{0, 2}, {2, 4}}}, {4, {{0, 2}, {2, 4}}}})})
        EXPECT_THAT(ask(ir::Embed{}, {table, kIds}, {layout, {}}).refusal,
                    HasSubstr("do not make up a row, one after the other"));
}

TEST(EmbedRule, AMemberHasOneStretchOfRows) {
    const TensorDesc table{DType::F32, {10, 8}};
    for (const Layout& layout : {Layout::split(0, 10, {{0, 6}, {5, 10}}),
                                 Layout::split(0, {{5, {{0, 2}, {2, 5}}}, {5, {{0, 2}, {2, 5}}}})})
        EXPECT_THAT(ask(ir::Embed{}, {table, kIds}, {layout, {}}).refusal,
                    HasSubstr("one stretch of the table's rows"));
}

TEST(ExpertRules, NoExpertBelongsToTwo) {
    EXPECT_THAT(
        ask(ir::MatmulExperts{}, {kRow, kExperts, kChosen}, {{}, experts({0, 3}, {2, 4}), {}}).refusal,
        HasSubstr("one stretch of the experts, and no two the same"));
}

// What is zero where a member has no expert is so for these experts, and for no others.
TEST(ExpertRules, OtherExpertsNeedTheWholeValue) {
    const Layout here = routed({0, 2}, {2, 4}), there = routed({0, 1}, {1, 4});
    const ir::MatmulExperts matmul;
    const auto same = ask(matmul, {kSlots, kExperts, kChosen}, {here, experts({0, 2}, {2, 4}), {}});
    EXPECT_EQ(same.outputs, std::vector{here});
    const auto other = ask(matmul, {kSlots, kExperts, kChosen}, {there, experts({0, 2}, {2, 4}), {}});
    EXPECT_EQ(other.whole, 0u);
    for (const ir::Op& gating : {ir::Op(ir::GatedActivate{}), ir::Op(ir::ClampedSwiglu{})}) {
        EXPECT_EQ(ask(gating, {kSlots, kSlots}, {here, here}).outputs, std::vector{here});
        EXPECT_EQ(ask(gating, {kSlots, kSlots}, {here, there}).whole, 0u);
    }
    const TensorDesc bias{DType::F32, {4, 8}};
    EXPECT_THAT(
        ask(ir::AddExpertBias{}, {kSlots, bias, kChosen}, {here, experts({0, 1}, {1, 4}), {}}).refusal,
        HasSubstr("experts of input and bias differ"));
}

TEST(NormRule, ARowInPiecesIsOneStretch) {
    const Layout two = Layout::split(1, {{4, {{0, 2}, {2, 4}}}, {4, {{0, 2}, {2, 4}}}});
    const TensorDesc weight{DType::F32, {8}};
    EXPECT_THAT(ask(ir::RmsNorm{}, {kRow, weight}, {two, Layout::split(0, two.segments)}).refusal,
                HasSubstr("must be one stretch"));
}

// Two matrices read the same features of a value that everybody has: each member cuts them out once.
TEST(Shard, APieceIsCutOutOnce) {
    const std::vector<ir::WeightSpec> weights{{"table", {DType::F32, {10, 8}}, {}},
                                              {"a", {DType::F32, {3, 8}}, {}},
                                              {"b", {DType::F32, {3, 8}}, {}}};
    ir::Graph graph({.tokens = 4}, {});
    const ir::ValueId x = graph.add(
        ir::Embed{}, "embd", {graph.weight(0, weights[0]), graph.step_input(ir::StepInput::tokens)})[0];
    const ir::ValueId a = graph.add(ir::Matmul{}, "a", {x, graph.weight(1, weights[1])})[0];
    const ir::ValueId b = graph.add(ir::Matmul{}, "b", {x, graph.weight(2, weights[2])})[0];
    graph.set_outputs({graph.add(ir::Add{}, "sum", {a, b})[0]});
    const Layout halves = Layout::split(1, 8, {{0, 4}, {4, 8}});
    const MemberGraphs members = shard(graph, {.weights = {{}, halves, halves}}, 2);
    for (const ir::Graph& member : members.graphs) {
        EXPECT_EQ(std::ranges::count_if(
                      member.nodes(),
                      [](const ir::Node& node) { return std::holds_alternative<ir::Slice>(node.op); }),
                  1);
    }
    EXPECT_EQ(members.collectives.size(), 1u);
    EXPECT_EQ(members.mirrored.size(), 2u) << "the embedding and the sum";
}

}  // namespace
}  // namespace plait::plan
