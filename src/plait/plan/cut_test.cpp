#include "plait/plan/cut.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "plait/base/error.h"

namespace plait::plan {
namespace {

using ir::Range;
using ir::Role;
using testing::ElementsAre;

std::vector<int64_t> sizes(const std::vector<Range>& ranges) {
    std::vector<int64_t> result;
    for (const Range& range : ranges) result.push_back(range.size());
    return result;
}

std::vector<double> equal(int members) { return std::vector<double>(static_cast<size_t>(members), 1.0); }

TEST(CutUnits, BordersAreRoundedNotExtents) {
    EXPECT_THAT(sizes(cut_units(43, equal(8), 1, 0)), ElementsAre(5, 5, 6, 5, 5, 6, 5, 6));
    EXPECT_THAT(sizes(cut_units(28, equal(3), 1, 0)), ElementsAre(9, 9, 10));
    EXPECT_THAT(sizes(cut_units(100, equal(3), 10, 0)), ElementsAre(30, 30, 40));
    EXPECT_THAT(sizes(cut_units(12, std::vector<double>{3, 1}, 1, 0)), ElementsAre(9, 3));
    EXPECT_THAT(sizes(cut_units(2, equal(4), 1, 0)), ElementsAre(0, 1, 0, 1));
}

TEST(CutUnits, TakingTurnsMovesTheRemainderOnly) {
    EXPECT_THAT(sizes(cut_units(7, equal(3), 1, 0)), ElementsAre(2, 2, 3));
    EXPECT_THAT(sizes(cut_units(7, equal(3), 1, 1)), ElementsAre(3, 2, 2));
    EXPECT_THAT(sizes(cut_units(7, equal(3), 1, 2)), ElementsAre(2, 3, 2));
    EXPECT_THAT(sizes(cut_units(30, std::vector<double>{2, 1}, 1, 1)), ElementsAre(20, 10));
}

TEST(CutUnits, AShareOfNothingGetsNothing) {
    for (int first = 0; first < 3; ++first) {
        EXPECT_THAT(sizes(cut_units(7, std::vector<double>{1, 0, 2}, 1, first)),
                    ElementsAre(testing::_, 0, testing::_));
        EXPECT_THAT(sizes(cut_units(64, std::vector<double>{100, 0, 0}, 32, first)), ElementsAre(64, 0, 0));
        EXPECT_THAT(sizes(cut_units(64, std::vector<double>{0, 0, 1e-9}, 32, first)), ElementsAre(0, 0, 64));
    }
}

TEST(CutUnits, AnyRatiosCoverEverythingWithinAGranule) {
    std::mt19937 random(3);
    for (int round = 0; round < 20'000; ++round) {
        std::vector<double> ratios(1 + random() % 8);
        for (double& ratio : ratios) ratio = random() % 4 == 0 ? 0 : static_cast<double>(random() % 1000) / 7;
        ratios[random() % ratios.size()] = 1 + static_cast<double>(random() % 50);
        const int64_t granule = 1 + random() % 40;
        const int64_t units = granule * (random() % 60) + random() % granule;
        const int first = static_cast<int>(random() % ratios.size());
        const std::vector<Range> ranges = cut_units(units, ratios, granule, first);
        const double sum = std::accumulate(ratios.begin(), ratios.end(), 0.0);
        int64_t begin = 0;
        for (size_t member = 0; member < ratios.size(); ++member) {
            ASSERT_EQ(ranges[member].begin, begin);
            begin = ranges[member].end;
            const double ideal = ratios[member] / sum * static_cast<double>(units);
            ASSERT_LE(std::abs(static_cast<double>(ranges[member].size()) - ideal),
                      static_cast<double>(granule) + 1e-6);
            if (ratios[member] == 0) {
                ASSERT_TRUE(ranges[member].empty());
            }
        }
        ASSERT_EQ(begin, units);
    }
}

TEST(CutAligned, AlignmentMayMoveABorderALittle) {
    const int64_t granules[] = {32, 8};
    EXPECT_THAT(sizes(cut_aligned(1056, equal(2), granules, 0)), ElementsAre(512, 544));
    EXPECT_THAT(sizes(cut_aligned(96, equal(2), granules, 0)), ElementsAre(48, 48)) << "32 moves it too far";
    EXPECT_THAT(sizes(cut_aligned(6, equal(2), granules, 0)), ElementsAre(3, 3)) << "no alignment left";
}

TEST(Ratios, AreChecked) {
    EXPECT_NO_THROW(check_ratios(std::vector<double>{0, 2.5}));
    for (const std::vector<double>& bad :
         {std::vector<double>{0, 0}, {1, -1}, {NAN, 1}, {INFINITY, 1}, std::vector<double>{}})
        EXPECT_THROW(check_ratios(bad), Error);
}

// --- whole models

const ir::HeadCounts kHeads{.query = 28, .kv = 4, .key_width = 8, .value_width = 4};

struct Described {
    std::vector<ir::WeightSpec> weights;
    std::vector<ir::StateGroupSpec> groups;

    void attention(int layer, ir::DType type = ir::DType::F16, const ir::HeadCounts& heads = kHeads) {
        const std::string name = "blk." + std::to_string(layer) + ".attn";
        const auto cut = [&](Role role) { return ir::Cut(role, name, heads); };
        weights.push_back({"q", {type, {heads.query * heads.key_width, 64}}, cut(Role::query)});
        weights.push_back({"k", {type, {heads.kv * heads.key_width, 64}}, cut(Role::key_value)});
        weights.push_back({"v", {type, {heads.kv * heads.value_width, 64}}, cut(Role::key_value)});
        weights.push_back({"o", {type, {64, heads.query * heads.value_width}}, cut(Role::attention_output)});
        if (groups.empty()) groups.push_back({.name = "kv"});
        groups[0].tensors.push_back(
            {.name = "k", .heads = heads.kv, .width = heads.key_width, .cut = cut(Role::key_value)});
    }
    void network(int layer, int64_t inner, ir::DType type = ir::DType::F16) {
        const std::string name = "blk." + std::to_string(layer) + ".ffn";
        weights.push_back({"up", {type, {inner, 64}}, {Role::ffn_up, name}});
        weights.push_back({"down", {type, {64, inner}}, {Role::ffn_down, name}});
    }
    Layouts cut(std::vector<double> ratios, CutOptions options = {}) const {
        options.ratios = std::move(ratios);
        return lay_out(weights, groups, options);
    }
};

TEST(LayOut, KeyValueHeadsFollowTheQueryHeadsAndMayOverlap) {
    Described model;
    model.attention(0);
    const Layouts layouts = model.cut(equal(3));
    EXPECT_THAT(layouts.weights[0].pieces(1), ElementsAre(Range{72, 144}));  // heads 9 to 17
    EXPECT_THAT(layouts.state[0].segments[0].ranges, ElementsAre(Range{0, 2}, Range{1, 3}, Range{2, 4}));
    EXPECT_THAT(layouts.weights[1].pieces(1), ElementsAre(Range{8, 24}));
    EXPECT_THAT(layouts.weights[2].pieces(1), ElementsAre(Range{4, 12}));
    EXPECT_EQ(layouts.weights[3].axis, 1);
    EXPECT_THAT(layouts.weights[3].pieces(2), ElementsAre(Range{72, 112}));
}

TEST(LayOut, EveryMemberHasHeadsIfThereAreEnough) {
    for (const ir::HeadCounts& heads : {kHeads, ir::HeadCounts{52, 4, 8, 8}, ir::HeadCounts{12, 12, 8, 8}}) {
        for (int members = 1; members <= 8; ++members) {
            Described model;
            model.attention(0, ir::DType::Q4_K, heads);
            const Layouts layouts = model.cut(equal(members));
            for (int m = 0; m < members; ++m) EXPECT_GT(layouts.weights[0].extent_of(m), 0) << members;
        }
    }
}

TEST(LayOut, MembersBeyondTheHeadsHaveTheNetwork) {
    Described model;
    model.attention(0, ir::DType::F16, {6, 3, 8, 8});
    model.network(0, 640);
    const Layouts layouts = model.cut(equal(8));
    EXPECT_EQ(layouts.weights[0].extent_of(0), 0);
    EXPECT_EQ(layouts.state[0].extent_of(0), 0);
    for (int m = 0; m < 8; ++m) EXPECT_EQ(layouts.weights[4].extent_of(m), 80);
}

TEST(LayOut, LayersOfAKindTakeTurns) {
    Described model;
    for (int layer = 0; layer < 3; ++layer) {
        model.attention(layer, ir::DType::F16, {7, 7, 8, 8});
        model.network(layer, 7);
    }
    const Layouts layouts = model.cut(equal(3));
    std::vector<int64_t> heads, inner;
    for (size_t layer = 0; layer < 3; ++layer) {
        heads.push_back(layouts.weights[layer * 6].extent_of(0) / 8);
        inner.push_back(layouts.weights[layer * 6 + 4].extent_of(0));
    }
    EXPECT_THAT(heads, ElementsAre(2, 3, 2));
    EXPECT_EQ(inner, heads);
}

TEST(LayOut, NetworksAreCutAtBlocksWhereThatIsFair) {
    Described fair;
    fair.network(0, 8192, ir::DType::Q4_K);
    EXPECT_EQ(fair.cut(equal(4)).weights[1].extent_of(0), 2048);
    Described torn;
    torn.network(0, 768, ir::DType::Q4_K);
    const Layouts layouts = torn.cut(equal(2));
    EXPECT_EQ(layouts.weights[1].extent_of(0), 384) << "inside a block of 256";
    EXPECT_EQ(ir::stored_slice(torn.weights[1].desc, layouts.weights[1], 1).before, 128);
    EXPECT_EQ(layouts.weights[0].segments, layouts.weights[1].segments) << "up and down agree";
}

TEST(LayOut, ExpertsAreCutInsideOrGoWhole) {
    Described model;
    model.weights.push_back({"up", {ir::DType::F16, {6, 32, 64}}, {Role::expert_up, "ffn"}});
    model.weights.push_back({"down", {ir::DType::F16, {6, 64, 32}}, {Role::expert_down, "ffn"}});
    model.weights.push_back({"bias", {ir::DType::F32, {6, 64}}, {Role::expert_down_bias, "ffn"}});
    const Layouts inside = model.cut(equal(2));
    EXPECT_EQ(inside.weights[0].axis, 1);
    EXPECT_EQ(inside.weights[1].axis, 2);
    EXPECT_EQ(inside.weights[1].extent_of(1), 16);
    EXPECT_TRUE(inside.weights[2].is(ir::LayoutKind::mirrored));
    const Layouts whole = model.cut(equal(2), {.experts = ExpertSplit::experts});
    for (const ir::Layout& layout : whole.weights) {
        EXPECT_EQ(layout.axis, 0);
        EXPECT_EQ(layout.extent_of(1), 3);
    }
}

TEST(LayOut, TablesLieAsAsked) {
    Described model;
    model.weights.push_back({"embd", {ir::DType::Q4_0, {100, 64}}, Role::embedding});
    model.weights.push_back({"output", {ir::DType::Q4_0, {100, 64}}, Role::vocabulary});
    model.weights.push_back({"tied", {ir::DType::F16, {100, 64}}, Role::tied_embedding});
    model.weights.push_back({"positions", {ir::DType::F32, {50, 64}}, Role::position_embedding});
    const Layouts usual = model.cut(equal(3));
    EXPECT_TRUE(usual.weights[0].is(ir::LayoutKind::mirrored));
    EXPECT_EQ(usual.weights[1].axis, 0);
    EXPECT_EQ(usual.weights[2], usual.weights[1]) << "one slice serves both readers";
    EXPECT_TRUE(usual.weights[3].is(ir::LayoutKind::mirrored));
    const Layouts hidden = model.cut(equal(3), {.embedding = EmbeddingSplit::hidden});
    EXPECT_EQ(hidden.weights[0].axis, 1);
    EXPECT_THAT(hidden.weights[0].pieces(2), ElementsAre(Range{32, 64})) << "never inside blocks";
    EXPECT_EQ(hidden.weights[0], hidden.weights[3]) << "what is added lies alike";
    const Layouts by_id = model.cut(equal(3), {.embedding = EmbeddingSplit::vocabulary});
    EXPECT_EQ(by_id.weights[0].axis, 0);
}

}  // namespace
}  // namespace plait::plan
