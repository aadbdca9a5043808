#include "plait/collectives/lower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "plait/collectives/test_members.h"

namespace plait::collectives {
namespace {

using ir::TensorDesc;
using ir::test::TestStep;
using ir::test::TestTensor;

constexpr int64_t kTokens = 4;
constexpr int64_t kWidth = 6;

const ir::WeightSpec kTable{"table", {ir::DType::F32, {100, kWidth}}, {}};

// Members that hold tables of their own, each looks up the step's tokens: a term.
class Terms {
  public:
    explicit Terms(int members) : step_(ir::test::simple_spec(kTokens, kTokens)) {
        for (int m = 0; m < members; ++m) {
            tables_.push_back(ir::test::make_tensor(kTable.desc, 7 + static_cast<uint64_t>(m)));
            graphs_.emplace_back(step_.layout().capacity(),
                                 std::vector(step_.layout().groups().begin(), step_.layout().groups().end()));
            ir::Graph& graph = graphs_.back();
            terms_.push_back(graph.add(
                ir::Embed{}, "term", {graph.weight(0, kTable), graph.step_input(ir::StepInput::tokens)})[0]);
        }
    }

    ir::Graph& graph(int m) { return graphs_[static_cast<size_t>(m)]; }
    ir::ValueId term(int m) const { return terms_[static_cast<size_t>(m)]; }
    int members() const { return static_cast<int>(graphs_.size()); }

    // The outputs by member, from the collectives themselves or, with a way, from what they are lowered to.
    std::vector<std::vector<float>> run(std::optional<Way> way) {
        LoweredGraphs lowered;
        if (way) lowered = lower(graphs_, *way);
        const std::span<const ir::Graph> graphs = way ? lowered.graphs : graphs_;
        test::MembersRunner runner(graphs, lowered.rounds, [&](int m, const ir::Value&) {
            return tables_[static_cast<size_t>(m)].bytes.data();
        });
        runner.run(step_);
        std::vector<std::vector<float>> outputs;
        for (int m = 0; m < members(); ++m) {
            if (graphs[static_cast<size_t>(m)].outputs().empty()) {
                outputs.emplace_back();
                continue;
            }
            outputs.push_back(ir::test::values_of(runner.output(m, 0)));
        }
        rounds_ = lowered.rounds;
        return outputs;
    }
    const std::vector<Round>& rounds() const { return rounds_; }

    // What a member looks up, in double.
    std::vector<double> rows_of(int m) const {
        std::vector<double> rows;
        const std::vector<float> table = ir::test::values_of(tables_[static_cast<size_t>(m)]);
        for (int64_t t = 0; t < kTokens; ++t) {
            const auto id = step_.view().tokens[static_cast<size_t>(t)];
            for (int64_t i = 0; i < kWidth; ++i) rows.push_back(table[static_cast<size_t>(id * kWidth + i)]);
        }
        return rows;
    }

  private:
    TestStep step_;
    std::vector<TestTensor> tables_;
    std::vector<ir::Graph> graphs_;
    std::vector<ir::ValueId> terms_;
    std::vector<Round> rounds_;
};

constexpr Way kWays[] = {Way::automatic, Way::direct, Way::pairwise, Way::butterfly};

class Reductions : public testing::TestWithParam<std::tuple<Way, int, ir::Reduction>> {};

TEST_P(Reductions, GiveEveryMemberTheSameBits) {
    const auto [way, members, reduction] = GetParam();
    Terms terms(members);
    for (int m = 0; m < members; ++m)
        terms.graph(m).set_outputs(
            terms.graph(m).add(ir::AllReduce{.reduction = reduction}, "sum", {terms.term(m)}));
    const auto outputs = terms.run(way);
    std::vector<double> expected = terms.rows_of(0);
    for (int m = 1; m < members; ++m) {
        const std::vector<double> term = terms.rows_of(m);
        for (size_t i = 0; i < term.size(); ++i) {
            if (reduction == ir::Reduction::sum) expected[i] += term[i];
            if (reduction == ir::Reduction::max) expected[i] = std::max(expected[i], term[i]);
            if (reduction == ir::Reduction::min) expected[i] = std::min(expected[i], term[i]);
        }
    }
    for (int m = 0; m < members; ++m) EXPECT_EQ(outputs[static_cast<size_t>(m)], outputs[0]) << m;
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(outputs[0][i], expected[i], 1e-5) << i;
    EXPECT_EQ(terms.rounds().size(), static_cast<size_t>(rounds_of_reduction(way, members)));
}

INSTANTIATE_TEST_SUITE_P(All, Reductions,
                         testing::Combine(testing::ValuesIn(kWays), testing::Values(1, 2, 3, 4, 5, 6, 7, 8),
                                          testing::Values(ir::Reduction::sum, ir::Reduction::max,
                                                          ir::Reduction::min)));

TEST(Lower, AButterflyFoldsTheSurplus) {
    EXPECT_EQ(rounds_of_reduction(Way::butterfly, 2), 1);
    EXPECT_EQ(rounds_of_reduction(Way::butterfly, 3), 3);
    EXPECT_EQ(rounds_of_reduction(Way::butterfly, 4), 2);
    for (const int members : {5, 6, 7}) EXPECT_EQ(rounds_of_reduction(Way::butterfly, members), 4);
    EXPECT_EQ(rounds_of_reduction(Way::butterfly, 8), 3);
    EXPECT_EQ(rounds_of_reduction(Way::pairwise, 5), 4);
    EXPECT_EQ(rounds_of_reduction(Way::direct, 5), 1);
}

TEST(Lower, PiecesOfAnyExtentAreGathered) {
    for (const std::vector<int64_t>& extents :
         {std::vector<int64_t>{1, 2, 3}, {0, 6, 0}, {4, 0, 2}, {6}, {0, 0, 6}}) {
        Terms terms(static_cast<int>(extents.size()));
        const TensorDesc whole{ir::DType::F32, {kTokens, kWidth}, ir::Rows::tokens};
        std::vector<double> expected;
        int64_t begin = 0;
        for (int m = 0; m < terms.members(); ++m) {
            const int64_t extent = extents[static_cast<size_t>(m)];
            std::vector<ir::ValueId> inputs;
            if (extent > 0)
                inputs =
                    terms.graph(m).add(ir::Slice{.begin = begin, .extent = extent}, "piece", {terms.term(m)});
            terms.graph(m).set_outputs(
                terms.graph(m).add(ir::AllGather{.whole = whole, .extents = extents}, "whole", inputs));
            begin += extent;
        }
        for (int64_t t = 0; t < kTokens; ++t) {
            for (int m = 0, from = 0; m < terms.members(); ++m) {
                for (int64_t i = 0; i < extents[static_cast<size_t>(m)]; ++i, ++from)
                    expected.push_back(terms.rows_of(m)[static_cast<size_t>(t * kWidth + from)]);
            }
        }
        for (const Way way : kWays) {
            for (const std::vector<float>& output : terms.run(way))
                EXPECT_EQ(std::vector<double>(output.begin(), output.end()), expected) << way_name(way);
        }
    }
}

TEST(Lower, EveryMemberKeepsItsPieceOfASum) {
    const std::vector<int64_t> extents{2, 0, 3, 1};
    Terms terms(4);
    for (int m = 0; m < 4; ++m)
        terms.graph(m).set_outputs(
            terms.graph(m).add(ir::ReduceScatter{.extents = extents, .member = m}, "piece", {terms.term(m)}));
    const auto outputs = terms.run(Way::direct);
    EXPECT_THAT(outputs[1], testing::IsEmpty());
    int64_t begin = 0;
    for (int m = 0; m < 4; ++m) {
        const int64_t extent = extents[static_cast<size_t>(m)];
        for (int64_t t = 0; t < kTokens; ++t) {
            for (int64_t i = 0; i < extent; ++i) {
                double sum = 0;
                for (int from = 0; from < 4; ++from)
                    sum += terms.rows_of(from)[static_cast<size_t>(t * kWidth + begin + i)];
                EXPECT_NEAR(outputs[static_cast<size_t>(m)][static_cast<size_t>(t * extent + i)], sum, 1e-5);
            }
        }
        begin += extent;
    }
}

TEST(Lower, OneMembersValueReachesAll) {
    const TensorDesc whole{ir::DType::F32, {kTokens, kWidth}, ir::Rows::tokens};
    for (const int root : {0, 2}) {
        Terms terms(3);
        for (int m = 0; m < 3; ++m)
            terms.graph(m).set_outputs(
                terms.graph(m).add(ir::Broadcast{.whole = whole, .root = root}, "all",
                                   m == root ? std::vector{terms.term(m)} : std::vector<ir::ValueId>{}));
        for (const std::vector<float>& output : terms.run(Way::automatic))
            EXPECT_EQ(std::vector<double>(output.begin(), output.end()), terms.rows_of(root));
    }
}

TEST(Lower, AComparisonIsARoundThatMovesNothing) {
    for (const bool unlike : {false, true}) {
        Terms terms(3);
        for (int m = 0; m < 3; ++m) {
            EXPECT_THAT(terms.graph(m).add(ir::CheckEqual{.unlike = unlike}, "equal", {terms.term(m)}),
                        testing::IsEmpty());
            terms.graph(m).set_outputs({terms.term(m)});
        }
        const auto outputs = terms.run(Way::butterfly);
        for (int m = 0; m < 3; ++m) {
            const std::vector<float>& output = outputs[static_cast<size_t>(m)];
            EXPECT_EQ(std::vector<double>(output.begin(), output.end()), terms.rows_of(m));
        }
        ASSERT_THAT(terms.rounds(), testing::SizeIs(1));
        EXPECT_THAT(terms.rounds()[0].moves, testing::IsEmpty());
        const TensorDesc whole{ir::DType::F32, {kTokens, kWidth}, ir::Rows::tokens};
        EXPECT_EQ(terms.rounds()[0].comparison, (Comparison{whole, unlike}));
    }
}

}  // namespace
}  // namespace plait::collectives
