#include "plait/ir/step.h"

#include <gtest/gtest.h>

#include <utility>

namespace plait::ir {
namespace {

const Capacity kCapacity{.tokens = 5, .outputs = 2, .sequences = 3};
const std::vector<StepGroupLimits> kGroups{{.page_tokens = 16, .max_pages_per_sequence = 4},
                                           {.page_tokens = 8, .max_pages_per_sequence = 1}};

// Every piece of the block, as (address, length).
std::vector<std::pair<int32_t*, size_t>> pieces(const StepView& view) {
    std::vector<std::pair<int32_t*, size_t>> found{
        {view.token_count, 1}, {view.output_count, 1}, {view.sequence_count, 1}};
    const auto add = [&](std::span<int32_t> span) { found.emplace_back(span.data(), span.size()); };
    add(view.tokens);
    add(view.positions);
    add(view.output_rows);
    add(view.token_begin);
    for (const StepGroup& group : view.groups) {
        add(group.write_slots);
        add(group.lengths);
        add(group.page_begin);
        add(group.pages);
        add(group.first_page);
        found.emplace_back(group.copy_count, 1);
        add(group.copy_from);
        add(group.copy_to);
    }
    return found;
}

TEST(StepLayout, CoversTheBlockWithoutGapOrOverlap) {
    const StepLayout layout(kCapacity, kGroups);
    std::vector<int32_t> block(static_cast<size_t>(layout.values()), 0);
    for (const auto& [data, count] : pieces(layout.view(block.data()))) {
        ASSERT_GE(data, block.data());
        ASSERT_LE(data + count, block.data() + block.size());
        for (size_t i = 0; i < count; ++i) ++data[i];
    }
    EXPECT_EQ(block, std::vector<int32_t>(block.size(), 1));
}

TEST(StepLayout, HasTheExtentsOfTheCapacity) {
    const StepLayout layout(kCapacity, kGroups);
    std::vector<int32_t> block(static_cast<size_t>(layout.values()));
    const StepView view = layout.view(block.data());
    EXPECT_EQ(view.tokens.size(), 5u);
    EXPECT_EQ(view.positions.size(), 5u);
    EXPECT_EQ(view.output_rows.size(), 2u);
    EXPECT_EQ(view.token_begin.size(), 4u);
    ASSERT_EQ(view.groups.size(), 2u);
    EXPECT_EQ(view.groups[0].pages.size(), 12u);
    EXPECT_EQ(view.groups[1].pages.size(), 3u);
    EXPECT_EQ(view.groups[1].write_slots.size(), 5u);
    EXPECT_EQ(view.groups[1].page_begin.size(), 4u);
    EXPECT_EQ(view.groups[1].first_page.size(), 3u);
    EXPECT_EQ(view.groups[1].copy_to.size(), 3u);
}

TEST(StepGroup, FindsPagesByTheirPlaceInTheSequence) {
    std::vector<int32_t> page_begin{0, 2, 5}, pages{7, 3, 9, 4, 6}, first_page{0, 11};
    StepGroup group;
    group.page_begin = page_begin;
    group.pages = pages;
    group.first_page = first_page;
    EXPECT_EQ(group.pages_of(0).at(1), 3);
    EXPECT_EQ(group.pages_of(1).at(11), 9);
    EXPECT_EQ(group.pages_of(1).at(13), 6);
    EXPECT_FALSE(group.pages_of(1).contains(10));
    EXPECT_TRUE(group.pages_of(1).contains(11));
    EXPECT_TRUE(group.pages_of(1).contains(13));
    EXPECT_FALSE(group.pages_of(1).contains(14));
}

TEST(StepLayout, IsTheSameForEqualCapacities) {
    std::vector<int32_t> block(static_cast<size_t>(StepLayout(kCapacity, kGroups).values()));
    const auto first = pieces(StepLayout(kCapacity, kGroups).view(block.data()));
    const auto second = pieces(StepLayout(kCapacity, kGroups).view(block.data()));
    EXPECT_EQ(first, second);
}

TEST(StepLayout, NeedsNoGroup) {
    const StepLayout layout({.tokens = 1, .outputs = 1, .sequences = 1}, {});
    EXPECT_EQ(layout.values(), 3 + 1 + 1 + 1 + 2);
}

// --- what is asked of rows of logits

class ChoicesTest : public testing::Test {
  protected:
    const StepLayout layout_{{.tokens = 2, .outputs = 2, .sequences = 2, .choices = 2}, kGroups};
    std::vector<int32_t> block_ = std::vector<int32_t>(static_cast<size_t>(layout_.values()));
    StepView view_ = layout_.view(block_.data());

    static std::vector<choice::Change> many(int64_t count) {
        std::vector<choice::Change> changes;
        for (int32_t id = 0; id < count; ++id) changes.push_back({.id = id, .count = 1});
        return changes;
    }
};

TEST_F(ChoicesTest, HoldAsManyChangesAsThereIsRoomFor) {
    constexpr int64_t kMost = StepChoices::kMostChanges;
    StepChoices& choices = view_.choices;
    EXPECT_TRUE(choices.fill(0, {.key = {.position = 9}, .top = 5}, many(kMost + 3)));
    EXPECT_FALSE(choices.fill(1, {.top = 6}, many(kMost + 3)));
    EXPECT_EQ(choices.ask(0).top, 5);
    EXPECT_EQ(choices.ask(0).key.position, 9);
    EXPECT_EQ(std::vector(choices.changes(0).begin(), choices.changes(0).end()), many(kMost + 3));
    EXPECT_FALSE(choices.ask(1).anything());
    EXPECT_TRUE(choices.changes(1).empty());
    EXPECT_TRUE(choices.fill(1, {.top = 6}, many(kMost - 3)));
    EXPECT_EQ(choices.ask(1).top, 6);
    EXPECT_EQ(choices.changes(1).back().id, kMost - 4);
}

// What the others' data need not follow into a device.
TEST_F(ChoicesTest, UnusedValuesAreTheEndOfTheBlock) {
    StepChoices& choices = view_.choices;
    constexpr int64_t kAll = 2 * StepChoices::kMostChanges * StepChoices::kChangeValues;
    EXPECT_EQ(choices.unused_values(0), kAll);
    choices.fill(0, {.top = 1}, many(7));
    EXPECT_EQ(choices.unused_values(1), kAll - 7 * StepChoices::kChangeValues);
    const int64_t used = layout_.values() - choices.unused_values(1);
    EXPECT_EQ(reinterpret_cast<const int32_t*>(choices.changes(0).data() + 7), block_.data() + used);
    EXPECT_EQ(StepChoices().unused_values(2), 0);
}

}  // namespace
}  // namespace plait::ir
