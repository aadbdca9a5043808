#include "plait/choice/slice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

namespace plait::choice {
namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();
constexpr int64_t kRoom = 32;

class OwnedSlice {
  public:
    explicit OwnedSlice(int64_t room = kRoom)
        : room_(room), bytes_(static_cast<size_t>(slice_bytes(room)), std::byte{0xA5}) {}
    Slice slice() { return {bytes_.data(), room_}; }
    const std::vector<std::byte>& bytes() const { return bytes_; }

  private:
    int64_t room_;
    std::vector<std::byte> bytes_;
};

struct Row {
    std::vector<float> logits;
    std::vector<Change> changes;
    Ask ask;
};

OwnedSlice answer_of(const Row& row, size_t begin, size_t end) {
    OwnedSlice owned;
    std::vector<Candidate> room(64);
    answer(row.ask, row.changes, std::span(row.logits).subspan(begin, end - begin),
           static_cast<int32_t>(begin), room, owned.slice());
    return owned;
}

// The answer in the plainest way: every logit changed, all of them sorted.
OwnedSlice plain_answer(const Row& row) {
    std::vector<Candidate> all;
    for (size_t id = 0; id < row.logits.size(); ++id) {
        Change change{.id = static_cast<int32_t>(id)};
        for (const Change& other : row.changes) change = other.id == change.id ? other : change;
        const float logit = changed(row.logits[id], change, row.ask.penalty);
        if (logit != kMasked) all.push_back({change.id, logit});
    }
    std::ranges::sort(all, [](const Candidate& a, const Candidate& b) { return better(a, b); });
    OwnedSlice owned;
    owned.slice().clear();
    SliceHead& head = owned.slice().head();
    head.found = static_cast<int32_t>(std::min<size_t>(all.size(), static_cast<size_t>(row.ask.top)));
    std::copy_n(all.begin(), head.found, owned.slice().room().begin());
    head.complete = head.found < row.ask.top || static_cast<int32_t>(row.logits.size()) <= row.ask.top;
    if (row.ask.sum != 0) head.sum = exp_sum(all);
    if (row.ask.drawn != 0 && !all.empty()) {
        head.drawn_id = draw(all, row.ask.temperature, row.ask.key).id;
        head.drawn_value = draw(all, row.ask.temperature, row.ask.key).value;
    }
    return owned;
}

Row random_row(size_t size, uint32_t seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, 3);
    Row row{.logits = std::vector<float>(size)};
    const bool few_values = random() % 2 == 0, masks = random() % 3 == 0;
    for (float& logit : row.logits) {
        logit = few_values ? std::floor(normal(random)) : normal(random);
        if (masks && random() % 3 != 0) logit = kMasked;
    }
    for (int32_t id = static_cast<int32_t>(random() % 5); id < static_cast<int32_t>(size) + 9;
         id += 1 + static_cast<int32_t>(random() % 90))
        row.changes.push_back({.id = id,
                               .count = static_cast<int32_t>(random() % 4),
                               .bias = random() % 4 == 0 ? kMasked : normal(random)});
    // Of another slice: ids beyond this row are never looked at.
    row.ask = {.key = {.seed = seed, .sequence = 3, .position = 17},
               .penalty = {.repeat = 1.3, .presence = 0.2, .frequency = 0.1},
               .temperature = 0.7,
               .top = static_cast<int32_t>(random() % (kRoom + 1)),
               .sum = static_cast<int16_t>(random() % 2),
               .drawn = static_cast<int16_t>(random() % 2)};
    return row;
}

TEST(Answer, IsThePlainOne) {
    for (uint32_t seed = 0; seed < 300; ++seed) {
        const Row row = random_row(1 + seed * 7 % 700, seed);
        ASSERT_EQ(answer_of(row, 0, row.logits.size()).bytes(), plain_answer(row).bytes()) << seed;
    }
}

TEST(Answer, KnowsIdsAndChangesOfItsSliceOnly) {
    Row row{.logits = {1, 2, 3, 4, 5, 6}, .changes = {{.id = 1, .bias = 100}, {.id = 4, .bias = -4}}};
    row.ask = {.top = 2};
    OwnedSlice owned = answer_of(row, 3, 6);
    ASSERT_EQ(owned.slice().head().found, 2);
    EXPECT_EQ(owned.slice().candidates()[0], (Candidate{5, 6}));
    EXPECT_EQ(owned.slice().candidates()[1], (Candidate{3, 4}));
    EXPECT_EQ(owned.slice().head().complete, 0);
}

TEST(Answer, OfNothingAskedOrNothingThere) {
    Row row{.logits = {1, 2}};
    OwnedSlice unasked = answer_of(row, 0, 2);
    EXPECT_EQ(unasked.slice().head().found, 0);
    EXPECT_EQ(unasked.slice().head().complete, 0);
    row.ask = {.top = 1, .sum = 1, .drawn = 1};
    OwnedSlice none = answer_of(row, 1, 1);
    EXPECT_EQ(none.slice().head().found, 0);
    EXPECT_EQ(none.slice().head().drawn_id, -1);
    EXPECT_EQ(none.slice().head().complete, 1);
}

TEST(Answer, BrokenLogitsLeaveNothingElse) {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        for (const Ask& ask :
             {Ask{.top = 1}, Ask{.top = 9}, Ask{.sum = 1}, Ask{.temperature = 1, .drawn = 1}}) {
            for (const size_t at : {0u, 100u, 299u}) {
                Row row{.logits = std::vector<float>(300, 1.0f), .changes = {}, .ask = ask};
                row.logits[at] = bad;
                OwnedSlice owned = answer_of(row, 0, 300);
                EXPECT_EQ(owned.slice().head().broken, 1) << bad << " at " << at;
                EXPECT_EQ(owned.slice().head().found, 0);
                EXPECT_EQ(owned.slice().head().drawn_id, -1);
            }
        }
    }
}

OwnedSlice joined(const Row& row, const std::vector<size_t>& borders, int64_t top, int64_t room) {
    std::vector<OwnedSlice> parts;
    for (size_t i = 0; i + 1 < borders.size(); ++i)
        parts.push_back(answer_of(row, borders[i], borders[i + 1]));
    std::vector<Slice> slices;
    for (OwnedSlice& part : parts) slices.push_back(part.slice());
    OwnedSlice whole(room);
    join(slices, top, whole.slice());
    return whole;
}

TEST(Join, OfAnyPiecesIsTheAnswerOfTheWhole) {
    for (uint32_t seed = 0; seed < 300; ++seed) {
        const Row row = random_row(1 + seed * 5 % 500, seed);
        std::mt19937 random(seed);
        std::vector<size_t> borders{0, row.logits.size()};
        for (uint32_t i = 0; i < seed % 7; ++i) borders.push_back(random() % (row.logits.size() + 1));
        std::ranges::sort(borders);
        OwnedSlice whole = joined(row, borders, row.ask.top, kRoom);
        SliceHead& head = whole.slice().head();
        head.complete = is_complete(head.found, row.ask.top, static_cast<int64_t>(row.logits.size()));
        ASSERT_EQ(whole.bytes(), plain_answer(row).bytes()) << seed;
    }
}

// With more room than one slice lists, the join lists no more than is certain.
TEST(Join, ListsWhatIsCertainAndNoMore) {
    Row row{.logits = {9, 8, 7, 1, 6, 5, 4, 3}};
    row.ask = {.top = 2};
    OwnedSlice two = joined(row, {0, 4, 8}, 8, 8);  // 9 8 | 6 5: behind 8 the next may be in the first half
    EXPECT_EQ(two.slice().head().found, 2);
    EXPECT_EQ(two.slice().head().complete, 0);
    OwnedSlice uneven = joined(row, {0, 2, 8}, 8, 8);  // 9 8 and no more | 7 6: behind 6 nobody knows
    EXPECT_EQ(uneven.slice().head().found, 4);
    EXPECT_EQ(uneven.slice().head().complete, 0);
    row.ask.top = 8;
    OwnedSlice all = joined(row, {0, 3, 8}, 8, 8);
    EXPECT_EQ(all.slice().head().found, 8);
    EXPECT_EQ(all.slice().head().complete, 1);
    EXPECT_EQ(all.slice().candidates()[7], (Candidate{3, 1}));
}

TEST(Join, IsBrokenWhereOneIs) {
    Row row{.logits = {1, 2, std::numeric_limits<float>::quiet_NaN(), 3}};
    row.ask = {.top = 3, .sum = 1};
    OwnedSlice whole = joined(row, {0, 2, 4}, 8, 8);
    EXPECT_EQ(whole.slice().head().broken, 1);
    EXPECT_EQ(whole.slice().head().found, 0);
}

}  // namespace
}  // namespace plait::choice
