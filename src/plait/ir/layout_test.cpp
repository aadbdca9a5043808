#include "plait/ir/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plait::ir {
namespace {

using testing::ElementsAre;

// [Q | K] over two members: Q as 2 + 4, K as 1 + 1 of 2, all on axis 0.
Layout fused() {
    return Layout::split(
        0, {{.extent = 6, .ranges = {{0, 2}, {2, 6}}}, {.extent = 2, .ranges = {{0, 1}, {1, 2}}}});
}

TEST(Layout, AMembersPiecesFollowTheSegments) {
    const Layout layout = fused();
    EXPECT_EQ(layout.extent(), 8);
    EXPECT_EQ(layout.extent_of(0), 3);
    EXPECT_EQ(layout.extent_of(1), 5);
    EXPECT_THAT(layout.pieces(1), ElementsAre(Range{2, 6}, Range{7, 8}));
    EXPECT_TRUE(layout.disjoint());
    EXPECT_EQ(layout.text(), "split on axis 0 as 3 + 5");
    EXPECT_EQ(member_desc({DType::F32, {8, 3}}, layout, 1).shape, (Shape{5, 3}));
}

TEST(Layout, NothingIsTheSameWhereverItBegins) {
    EXPECT_EQ(Layout::split(0, 4, {{0, 4}, {4, 4}}), Layout::split(0, 4, {{0, 4}, {0, 0}}));
    EXPECT_NE(Layout::split(0, 4, {{0, 3}, {3, 4}}), Layout::split(0, 4, {{0, 2}, {2, 4}}));
    EXPECT_NE(Layout::split(0, 4, {{0, 4}}), Layout::split(1, 4, {{0, 4}}));
}

TEST(Layout, HeadsAreFeaturesAndBack) {
    const Layout heads = Layout::split(1, 3, {{0, 1}, {1, 3}});
    const Layout features = multiply(heads, 1, 16);
    EXPECT_THAT(features.pieces(1), ElementsAre(Range{16, 48}));
    EXPECT_EQ(divide(features, 1, 16), heads);
    EXPECT_TRUE(can_divide(features, 8));
    EXPECT_FALSE(can_divide(features, 32));
}

TEST(Layout, OverlapIsSeen) {
    EXPECT_FALSE(Layout::split(0, 4, {{0, 2}, {1, 3}, {2, 4}}).disjoint());
    EXPECT_TRUE(Layout::split(0, 4, {{0, 2}, {2, 2}, {2, 4}}).disjoint());
}

TEST(Layout, PiecesJoinInTheMembersOrderOrNot) {
    EXPECT_TRUE(Layout::split(0, 4, {{0, 2}, {0, 0}, {2, 4}}).joins_in_order());
    EXPECT_FALSE(Layout::split(0, 4, {{2, 4}, {0, 2}}).joins_in_order());
    EXPECT_FALSE(Layout::split(0, 4, {{0, 3}, {2, 4}}).joins_in_order());
    EXPECT_FALSE(Layout::split(0, 4, {{0, 2}, {2, 3}}).joins_in_order());
    EXPECT_FALSE(fused().joins_in_order());
}

TEST(Layout, IntersectionsAreCountedFromTheBeginning) {
    EXPECT_EQ(intersect({3, 9}, {5, 20}), (Range{0, 4}));
    EXPECT_EQ(intersect({3, 9}, {0, 5}), (Range{3, 5}));
    EXPECT_TRUE(intersect({3, 9}, {9, 20}).empty());
}

TEST(StoredSlice, NeighboursBothKeepATornBlock) {
    const TensorDesc whole{DType::Q4_0, {3, 96}};
    const Layout layout = Layout::split(1, 96, {{0, 40}, {40, 96}});
    const StoredSlice first = stored_slice(whole, layout, 0);
    EXPECT_THAT(first.pieces, ElementsAre(Range{0, 64}));
    EXPECT_EQ(first.before, 0);
    EXPECT_EQ(first.after, 24);
    const StoredSlice second = stored_slice(whole, layout, 1);
    EXPECT_THAT(second.pieces, ElementsAre(Range{32, 96}));
    EXPECT_EQ(second.before, 8);
    EXPECT_EQ(second.after, 0);
    EXPECT_EQ(stored_desc(whole, layout, 1).shape, (Shape{3, 64}));
    EXPECT_EQ(stored_desc(whole, Layout::mirrored(), 1), whole);
}

TEST(StoredSlice, OnlyTheInnermostAxisHasBlocks) {
    const TensorDesc whole{DType::Q4_0, {7, 64}};
    const Layout layout = Layout::split(0, 7, {{0, 3}, {3, 7}});
    EXPECT_THAT(stored_slice(whole, layout, 1).pieces, ElementsAre(Range{3, 7}));
    EXPECT_EQ(stored_desc(whole, layout, 1).shape, (Shape{4, 64}));
}

}  // namespace
}  // namespace plait::ir
