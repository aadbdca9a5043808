#include "plait/plan/residency.h"

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

constexpr const char* kFast = "test.fast/1";

// A tied table (weight 0) and a matrix (weight 1), of one format.
ir::Graph graph_of(DType type, bool tied) {
    ir::Graph graph({4, 1, 1}, {});
    const auto table = graph.weight(0, {"table", {type, {32, 64}}});
    auto x = graph.add(ir::Embed{}, "lookup", {table, graph.step_input(ir::StepInput::tokens)})[0];
    x = graph.add(ir::Matmul{}, "inner", {x, graph.weight(1, {"inner", {type, {64, 64}}})})[0];
    if (tied) x = graph.add(ir::Matmul{}, "vocabulary", {x, table})[0];
    graph.set_outputs({x});
    return graph;
}

// Multiplies from both layouts, looks up in plain rows only.
device::DeviceDescription device() {
    return device_with("acc", {kFast, device::kRowLayout},
                       {row_of<ir::Matmul>(formats(DType::Q4_0), kFast),
                        row_of<ir::Matmul>(formats(DType::Q4_0, DType::F32)),
                        row_of<ir::Embed>(formats(DType::Q4_0, DType::F32))});
}

std::vector<int> choose(std::vector<ir::Graph> graphs, size_t weights) {
    std::vector<const ir::Graph*> pointers;
    for (const ir::Graph& graph : graphs) pointers.push_back(&graph);
    return choose_residency(pointers, weights, device());
}

TEST(Residency, OfNothing) { EXPECT_THAT(choose({}, 0), IsEmpty()); }

TEST(Residency, TakesTheFirstLayoutItsReadersTake) {
    EXPECT_THAT(choose({graph_of(DType::Q4_0, false)}, 2), ElementsAre(1, 0));
    EXPECT_THAT(choose({graph_of(DType::F32, false)}, 2), ElementsAre(1, 1));
}

TEST(Residency, AskAllReaders) {
    EXPECT_THAT(choose({graph_of(DType::Q4_0, true)}, 2), ElementsAre(1, 0))
        << "the lookup cannot read what the product would like best";
}

TEST(Residency, AsksAllPrograms) {
    ir::Graph product({1, 1, 1}, {});
    const auto other = product.weight(2, {"other", {DType::F32, {8, 64}}});
    const auto x = product.add(ir::Embed{}, "x", {other, product.step_input(ir::StepInput::tokens)})[0];
    product.add(ir::Matmul{}, "y", {x, product.weight(0, {"table", {DType::Q4_0, {32, 64}}})});
    EXPECT_THAT(choose({product}, 3), ElementsAre(0, -1, 1));
    EXPECT_THAT(choose({product, graph_of(DType::Q4_0, false)}, 3), ElementsAre(1, 0, 1));
}

TEST(Residency, WeightsNobodyReadsAreNotStored) {
    EXPECT_THAT(choose({graph_of(DType::F32, false)}, 4), ElementsAre(1, 1, -1, -1));
}

TEST(Residency, SaysWhoCannotReadAWeight) {
    try {
        choose({graph_of(DType::Q8_0, false)}, 2);
        FAIL() << "no row takes Q8_0";
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(),
                     "acc cannot run this model: lookup: embed: no kernel takes a weight in Q8_0");
    }
}

}  // namespace
}  // namespace plait::plan
