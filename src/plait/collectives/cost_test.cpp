#include "plait/collectives/cost.h"

#include <gtest/gtest.h>

#include "plait/ir/test_support.h"

namespace plait::collectives {
namespace {

constexpr int64_t kTokens = 4;
constexpr int64_t kWidth = 6;
constexpr int64_t kRow = kWidth * 4;

// Members of which each has a term of [kTokens, kWidth] and hands it to one collective.
LoweredGraphs lowered(int members, Way way, const auto& collective) {
    const ir::test::TestStep step(ir::test::simple_spec(kTokens, kTokens));
    const ir::WeightSpec table{"table", {ir::DType::F32, {100, kWidth}}, {}};
    std::vector<ir::Graph> graphs;
    for (int m = 0; m < members; ++m) {
        ir::Graph& graph =
            graphs.emplace_back(step.layout().capacity(),
                                std::vector(step.layout().groups().begin(), step.layout().groups().end()));
        const ir::ValueId term = graph.add(
            ir::Embed{}, "term", {graph.weight(0, table), graph.step_input(ir::StepInput::tokens)})[0];
        graph.set_outputs(collective(graph, m, term));
    }
    return lower(graphs, way);
}

Cost cost_of_sum(int members, Way way) {
    const LoweredGraphs graphs = lowered(members, way, [](ir::Graph& graph, int, ir::ValueId term) {
        return graph.add(ir::AllReduce{}, "sum", {term});
    });
    EXPECT_EQ(graphs.collectives.size(), 1u);
    EXPECT_EQ(graphs.collectives[0].rounds, rounds_of_reduction(way, members));
    EXPECT_EQ(graphs.collectives[0].row_bytes, kRow);
    return costs(graphs).at(0);
}

// Members beyond the largest power of two hand their term to a partner and get the sum from it.
TEST(Cost, AButterflySendsATermPerRound) {
    const int64_t terms[] = {0, 0, 1, 2, 2, 3, 3, 3, 3};
    for (int members = 1; members <= 8; ++members) {
        const Cost cost = cost_of_sum(members, Way::butterfly);
        EXPECT_EQ(cost.link, terms[members] * kRow) << members;
        EXPECT_EQ(cost.scratch, members == 1 ? 0 : kRow) << members;
    }
    EXPECT_EQ(cost_of_sum(4, Way::butterfly).moved, 8 * kRow);
    EXPECT_EQ(cost_of_sum(5, Way::butterfly).moved, (1 + 8 + 1) * kRow);
}

TEST(Cost, OtherWaysSendEverybodysTermToEverybody) {
    for (const Way way : {Way::direct, Way::pairwise}) {
        for (int members = 1; members <= 6; ++members) {
            const Cost cost = cost_of_sum(members, way);
            EXPECT_EQ(cost.link, (members - 1) * kRow) << members;
            EXPECT_EQ(cost.scratch, (members - 1) * kRow) << members;
            EXPECT_EQ(cost.moved, members * (members - 1) * kRow) << members;
        }
    }
}

TEST(Cost, TheLargestPieceSetsThePaceOfAGathering) {
    const std::vector<int64_t> extents{1, 0, 5};
    const LoweredGraphs graphs = lowered(3, Way::butterfly, [&](ir::Graph& graph, int m, ir::ValueId term) {
        std::vector<ir::ValueId> piece;
        if (extents[static_cast<size_t>(m)] > 0)
            piece =
                graph.add(ir::Slice{.begin = 0, .extent = extents[static_cast<size_t>(m)]}, "piece", {term});
        return graph.add(ir::AllGather{{ir::DType::F32, {kTokens, kWidth}, ir::Rows::tokens}, extents},
                         "whole", piece);
    });
    EXPECT_EQ(graphs.collectives.at(0).way, Way::direct);
    EXPECT_EQ(graphs.collectives[0].row_bytes, 5 * 4);
    const Cost cost = costs(graphs).at(0);
    EXPECT_EQ(cost.link, 2 * 5 * 4);
    EXPECT_EQ(cost.moved, 2 * (1 + 5) * 4);
    EXPECT_EQ(cost.scratch, 6 * 4) << "the member of nothing gets all";
}

}  // namespace
}  // namespace plait::collectives
