#include "plait/plan/place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plait/base/error.h"
#include "plait/plan/test_devices.h"

namespace plait::plan {
namespace {

using device::formats;
using ir::DType;
using testing::ElementsAre;
using testing::IsEmpty;

// lookup -> product -> split -> merge -> tap -> bend
ir::Graph chain() {
    ir::Graph graph({4, 1, 1}, {});
    const auto table = graph.weight(0, {"table", {DType::F32, {32, 64}}});
    auto x = graph.add(ir::Embed{}, "lookup", {table, graph.step_input(ir::StepInput::tokens)})[0];
    x = graph.add(ir::Matmul{}, "product", {x, graph.weight(1, {"w", {DType::Q4_0, {64, 64}}})})[0];
    x = graph.add(ir::SplitHeads{2}, "split", {x})[0];
    x = graph.add(ir::MergeHeads{}, "merge", {x})[0];
    x = graph.add(ir::Tap{}, "tap", {x})[0];
    x = graph.add(ir::Activate{}, "bend", {x})[0];
    graph.set_outputs({x});
    return graph;
}

// Multiplies, from a layout of its own.
device::DeviceDescription accelerator() {
    return device_with("acc", {"acc.tiles/1", device::kRowLayout},
                       {row_of<ir::Matmul>(formats(DType::Q4_0), "acc.tiles/1")});
}

device::DeviceDescription everything() {
    const auto any = formats(DType::F32, DType::Q4_0);
    return device_with("all", {device::kRowLayout},
                       {row_of<ir::Matmul>(any), row_of<ir::Embed>(any), row_of<ir::Activate>(any)});
}

std::vector<int> placed(const ir::Graph& graph, std::vector<device::DeviceDescription> devices) {
    std::vector<const device::DeviceDescription*> pointers;
    for (const auto& description : devices) pointers.push_back(&description);
    return place(graph, pointers);
}

TEST(Place, OfNothing) { EXPECT_THAT(placed(ir::Graph({1, 1, 1}, {}), {everything()}), IsEmpty()); }

TEST(Place, TakesTheFirstDeviceThatCan) {
    EXPECT_THAT(placed(chain(), {everything()}), ElementsAre(0, 0, 0, 0, 0, 0));
    EXPECT_THAT(placed(chain(), {everything(), accelerator()}), ElementsAre(0, 0, 0, 0, 0, 0));
}

TEST(Place, ViewsAndTapsFollowTheirInput) {
    EXPECT_THAT(placed(chain(), {accelerator(), everything()}), ElementsAre(1, 0, 0, 0, 0, 1));
}

TEST(Place, WhatTakesNothingFollowsTheNodeBeforeIt) {
    ir::Graph graph({4, 1, 1}, {});
    const ir::TensorDesc received{DType::F32, {4, 64}, ir::Rows::tokens};
    auto x = graph.add(ir::Exchange{.received = {received}}, "first", {})[0];
    x = graph.add(ir::Matmul{}, "product", {x, graph.weight(0, {"w", {DType::Q4_0, {64, 64}}})})[0];
    graph.add(ir::Exchange{.received = {received}}, "second", {});
    EXPECT_THAT(placed(graph, {everything(), accelerator()}), ElementsAre(0, 0, 0));
    graph.add(ir::Activate{}, "bend", {x});
    EXPECT_THAT(placed(graph, {accelerator(), everything()}), ElementsAre(0, 0, 0, 1));
}

TEST(Place, SaysWhyNobodyCan) {
    try {
        placed(chain(), {accelerator(), device_with("none", {device::kRowLayout}, {})});
        FAIL() << "nobody looks up";
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(),
                     "no device can run lookup (acc: embed: there is no kernel for it; none: embed: there is "
                     "no kernel for it)");
    }
}

TEST(Place, NeedsADevice) { EXPECT_THROW(placed(chain(), {}), Error); }

}  // namespace
}  // namespace plait::plan
