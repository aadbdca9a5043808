#include "plait/backends/cpu/lower.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "plait/backends/cpu/cpu_device.h"
#include "plait/backends/cpu/program.h"

namespace plait::backends::cpu {
namespace {

using ir::DType;
using ir::ValueId;

// A graph over weights made as they are needed, [4 tokens, 64] at its begin.
struct Builder {
    ir::Graph graph{{.tokens = 4, .outputs = 4}, {}};
    int weights = 0;

    ValueId weight(DType type, ir::Shape shape) {
        const std::string name = "w" + std::to_string(weights);
        return graph.weight(weights++, {name, {type, shape}, {}});
    }
    ValueId add(const ir::Op& op, const std::string& name, std::vector<ValueId> inputs) {
        return graph.add(op, name, std::move(inputs))[0];
    }
    ValueId embed() {
        return add(ir::Embed{}, "x",
                   {weight(DType::F32, {100, 64}), graph.step_input(ir::StepInput::tokens)});
    }
    ValueId product(const std::string& name, ValueId x, int64_t rows, int64_t k, DType type = DType::Q8_0) {
        return add(ir::Matmul{}, name, {x, weight(type, {rows, k})});
    }
    // Its output keeps its place from being the last one: outputs are written by steps of their own.
    std::vector<Step> lower(ValueId output) {
        graph.set_outputs({add(ir::RmsNorm{}, "out", {output, weight(DType::F32, {64})})});
        Cores cores;
        CpuDevice device(cores, {.workers = 1});
        const std::vector<int> layouts =
            device.choose_layouts(std::vector<const ir::Graph*>{&graph}, static_cast<size_t>(weights));
        const auto program = device.compile(graph, layouts);
        const auto segments = dynamic_cast<CpuProgram&>(*program).segment_list();
        return segments[0].steps;
    }
};

std::vector<std::string> names_of(const std::vector<Step>& steps) {
    std::vector<std::string> names;
    for (const Step& step : steps) names.push_back(step.name);
    return names;
}

int64_t barriers_of(const std::vector<Step>& steps) {
    return std::ranges::count(steps, true, &Step::barrier_before);
}

using Names = std::vector<std::string>;

TEST(Lower, AFeedForwardNetworkHasTwoBarriersBehindItsNorm) {
    Builder b;
    const ValueId x = b.embed();
    const ValueId norm = b.add(ir::RmsNorm{}, "norm", {x, b.weight(DType::F32, {64})});
    const ValueId gate = b.product("gate", norm, 96, 64), up = b.product("up", norm, 96, 64);
    const ValueId hidden = b.add(ir::GatedActivate{}, "hidden", {gate, up});
    const ValueId down = b.product("down", hidden, 64, 96);
    const std::vector<Step> steps = b.lower(b.add(ir::Add{}, "sum", {x, down}));
    EXPECT_EQ(names_of(steps), (Names{"x", "norm", "up", "down", "out"}));
    EXPECT_EQ(barriers_of(steps), 4);
    ASSERT_EQ(names_of(steps[2].joined), Names{"gate"});
    ASSERT_EQ(names_of(steps[2].followers), Names{"hidden"});
    EXPECT_GE(steps[2].followers[0].twin_offset, 0) << "quantised where it is made";
    EXPECT_EQ(names_of(steps[3].followers), Names{"sum"});
    EXPECT_TRUE(steps[1].by_everybody);
    EXPECT_TRUE(steps[2].no_barrier_if_few);
    EXPECT_EQ(std::ranges::count(steps, true, &Step::no_barrier_if_few), 1);
    EXPECT_FALSE(steps[4].by_everybody) << "an output is made once";
}

// A barrier stays where something else was made before it.
TEST(Lower, ANormBesideOtherWorkIsDoneOnce) {
    Builder b;
    const ValueId x = b.embed();
    const ValueId y = b.product("y", x, 64, 64);
    const ValueId norm = b.add(ir::RmsNorm{}, "norm", {x, b.weight(DType::F32, {64})});
    const ValueId z = b.product("z", norm, 64, 64);
    const std::vector<Step> steps = b.lower(b.add(ir::Add{}, "sum", {y, z}));
    EXPECT_EQ(std::ranges::count(steps, true, &Step::by_everybody), 0);
    EXPECT_EQ(std::ranges::count(steps, true, &Step::no_barrier_if_few), 0);
}

TEST(Lower, ABiasIsFollowedByTheSum) {
    Builder b;
    const ValueId x = b.embed();
    const ValueId y = b.product("y", x, 64, 64);
    const ValueId biased = b.add(ir::Add{}, "biased", {y, b.weight(DType::F32, {64})});
    const std::vector<Step> steps = b.lower(b.add(ir::Add{}, "sum", {biased, x}));
    ASSERT_EQ(names_of(steps), (Names{"x", "x quantised", "y", "out"}));
    ASSERT_EQ(names_of(steps[2].followers), Names{"biased"});
    EXPECT_EQ(names_of(steps[2].followers[0].followers), Names{"sum"});
}

TEST(Lower, ProductsOfOtherShapesAreNotJoined) {
    Builder b;
    const ValueId x = b.embed();
    const ValueId narrow = b.product("narrow", x, 32, 64), wide = b.product("wide", x, 64, 64);
    const ValueId again = b.product("again", narrow, 64, 32);
    const std::vector<Step> steps = b.lower(b.add(ir::Add{}, "sum", {again, wide}));
    ASSERT_EQ(names_of(steps), (Names{"x", "x quantised", "narrow", "wide", "again", "out"}));
    EXPECT_TRUE(steps[3].joined.empty());
    EXPECT_EQ(names_of(steps[4].followers), Names{"sum"}) << "a barrier parts it from wide";
}

TEST(Lower, WhatIsReadTwiceIsStillThere) {
    Builder b;
    const ValueId x = b.embed();
    const ValueId y = b.product("y", x, 64, 64);
    const ValueId sum = b.add(ir::Add{}, "sum", {y, x});
    const std::vector<Step> steps = b.lower(b.add(ir::Add{}, "both", {sum, y}));
    ASSERT_EQ(names_of(steps), (Names{"x", "x quantised", "y", "out"}));
    EXPECT_EQ(names_of(steps[2].followers), Names{"sum"});
    EXPECT_EQ(names_of(steps[2].followers[0].followers), Names{"both"});
}

}  // namespace
}  // namespace plait::backends::cpu
