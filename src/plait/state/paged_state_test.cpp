#include "plait/state/paged_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "plait/base/error.h"

namespace plait::state {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Ints = std::vector<int32_t>;

constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();

Step begin(PagedState& state, std::vector<Append> appends) { return state.begin(appends); }

void append(PagedState& state, SequenceId sequence, int64_t tokens) {
    begin(state, {{sequence, tokens}}).commit();
}

Ints slots(const Step& step, int group = 0) {
    Ints slots(step.tokens());
    step.write_slots(group, slots);
    return slots;
}

struct Csr {
    Ints offsets, pages;
};

Csr lists(const Step& step, int group = 0) {
    Csr csr{Ints(step.appends() + 1), Ints(step.list_entries(group))};
    step.page_lists(group, csr.offsets, csr.pages);
    return csr;
}

// The pages of one sequence, seen by a step that appends nothing.
Ints pages(PagedState& state, SequenceId sequence, int group = 0) {
    return lists(begin(state, {{sequence, 0}}), group).pages;
}

int32_t first_page(PagedState& state, SequenceId sequence, int group = 0) {
    Ints first(1);
    begin(state, {{sequence, 0}}).first_pages(group, first);
    return first[0];
}

template <typename Function>
std::string refusal(Function function) {
    try {
        function();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

TEST(PagedState, OneSequenceFillsItsPages) {
    PagedState state({{"kv", 4, 10}}, 2, 100);
    const SequenceId a = state.create();
    auto step = begin(state, {{a, 6}});
    EXPECT_EQ(step.appends(), 1u);
    EXPECT_EQ(step.tokens(), 6);
    EXPECT_THAT(slots(step), ElementsAre(0, 1, 2, 3, 4, 5));
    EXPECT_THAT(lists(step).offsets, ElementsAre(0, 2));
    EXPECT_THAT(lists(step).pages, ElementsAre(0, 1));
    EXPECT_THAT(step.copies(), IsEmpty());
    EXPECT_EQ(state.length(a), 0);
    step.commit();
    EXPECT_EQ(state.length(a), 6);
    EXPECT_EQ(state.pages_in_use(0), 2);
    EXPECT_EQ(state.free_pages(0), 8);
}

TEST(PagedState, ExactlyFullPagesTakeTheNextOneOnlyWhenNeeded) {
    PagedState state({{"kv", 4, 10}}, 1, 100);
    const SequenceId a = state.create();
    append(state, a, 8);
    EXPECT_EQ(state.pages_in_use(0), 2);
    append(state, a, 1);
    EXPECT_EQ(state.pages_in_use(0), 3);
    append(state, a, 3);
    EXPECT_EQ(state.pages_in_use(0), 3);
}

TEST(PagedState, SeveralSequencesKeepTheOrderOfTheStep) {
    PagedState state({{"kv", 4, 10}}, 3, 100);
    const SequenceId a = state.create(), b = state.create(), c = state.create();
    append(state, b, 5);  // pages 0 1
    auto step = begin(state, {{c, 1}, {b, 2}, {a, 0}});
    EXPECT_THAT(slots(step), ElementsAre(8, 5, 6));
    EXPECT_THAT(lists(step).offsets, ElementsAre(0, 1, 3, 3));
    EXPECT_THAT(lists(step).pages, ElementsAre(2, 0, 1));
    Ints lengths(5, -7);
    step.lengths(lengths);
    EXPECT_THAT(lengths, ElementsAre(1, 7, 0, -7, -7));
}

TEST(PagedState, GroupsHaveTheirOwnPagesAndSizes) {
    PagedState state({{"full", 4, 10}, {"narrow", 2, 20}}, 2, 100);
    const SequenceId a = state.create();
    append(state, state.create(), 1);
    auto step = begin(state, {{a, 5}});
    EXPECT_THAT(lists(step, 0).pages, ElementsAre(1, 2));
    EXPECT_THAT(lists(step, 1).pages, ElementsAre(1, 2, 3));
    EXPECT_THAT(slots(step, 1), ElementsAre(2, 3, 4, 5, 6));
    step.commit();
    EXPECT_EQ(state.pages_in_use(0), 3);
    EXPECT_EQ(state.pages_in_use(1), 4);
}

TEST(PagedState, NoGroupsKeepLengthsAlone) {
    PagedState state({}, 1, 10);
    const SequenceId a = state.create();
    append(state, a, 7);
    EXPECT_EQ(state.length(a), 7);
    EXPECT_EQ(state.groups(), 0);
}

TEST(PagedState, AnEmptyStepIsAStep) {
    PagedState state({{"kv", 4, 10}}, 1, 100);
    auto step = begin(state, {});
    EXPECT_EQ(step.tokens(), 0);
    EXPECT_THAT(lists(step).offsets, ElementsAre(0));
    step.commit();
    EXPECT_EQ(state.free_pages(0), 10);
}

TEST(PagedState, RollbackAndDestructionRestoreEverything) {
    PagedState state({{"kv", 4, 10}}, 3, 100);
    const SequenceId a = state.create();
    append(state, a, 6);
    const SequenceId b = state.fork(a, 6);
    const auto attempt = [&](Step& step) { return std::pair(lists(step).pages, slots(step)); };
    auto first = begin(state, {{b, 7}, {a, 1}});
    const auto expected = attempt(first);
    first.rollback();
    EXPECT_EQ(state.length(a), 6);
    EXPECT_EQ(state.length(b), 6);
    EXPECT_EQ(state.pages_in_use(0), 2);
    EXPECT_EQ(pages(state, b), pages(state, a));
    {
        auto second = begin(state, {{b, 7}, {a, 1}});
        EXPECT_EQ(attempt(second), expected);
    }
    EXPECT_EQ(state.pages_in_use(0), 2);
    auto third = begin(state, {{b, 7}, {a, 1}});
    EXPECT_EQ(attempt(third), expected);
}

TEST(PagedState, AMovedStepStaysOpen) {
    PagedState state({{"kv", 4, 10}}, 1, 100);
    const SequenceId a = state.create();
    auto step = begin(state, {{a, 3}});
    Step moved = std::move(step);
    moved.commit();
    EXPECT_EQ(state.length(a), 3);
}

TEST(PagedState, SequenceNumbersAreReusedLowestFirst) {
    PagedState state({{"kv", 4, 10}}, 3, 100);
    EXPECT_EQ(state.create(), 0);
    EXPECT_EQ(state.create(), 1);
    EXPECT_EQ(state.create(), 2);
    append(state, 1, 9);
    state.release(1);
    EXPECT_EQ(state.free_pages(0), 10);
    EXPECT_EQ(state.create(), 1);
    EXPECT_EQ(state.length(1), 0);
}

TEST(PagedState, TruncateFreesWholePagesOnly) {
    PagedState state({{"kv", 4, 10}}, 1, 100);
    const SequenceId a = state.create();
    append(state, a, 10);
    state.truncate(a, 5);
    EXPECT_EQ(state.pages_in_use(0), 2);
    state.truncate(a, 5);
    EXPECT_EQ(state.length(a), 5);
    EXPECT_THAT(slots(begin(state, {{a, 4}})), ElementsAre(5, 6, 7, 8));
    state.truncate(a, 4);
    EXPECT_EQ(state.pages_in_use(0), 1);
    state.truncate(a, 0);
    EXPECT_EQ(state.pages_in_use(0), 0);
}

TEST(Fork, SharesPagesAndTakesNone) {
    PagedState state({{"kv", 4, 10}}, 3, 100);
    const SequenceId a = state.create();
    append(state, a, 10);
    const SequenceId b = state.fork(a, 6);
    EXPECT_EQ(state.length(b), 6);
    EXPECT_EQ(state.pages_in_use(0), 3);
    EXPECT_THAT(pages(state, b), ElementsAre(0, 1));
    state.release(a);
    EXPECT_EQ(state.pages_in_use(0), 2);
    EXPECT_THAT(pages(state, b), ElementsAre(0, 1));
}

TEST(Fork, OfNothing) {
    PagedState state({{"kv", 4, 10}}, 3, 100);
    const SequenceId a = state.create();
    append(state, a, 3);
    const SequenceId b = state.fork(a, 0);
    EXPECT_THAT(slots(begin(state, {{b, 1}})), ElementsAre(4));
}

TEST(Fork, AtAPageBorderNeedsNoCopy) {
    PagedState state({{"kv", 4, 10}}, 3, 100);
    const SequenceId a = state.create();
    append(state, a, 8);
    const SequenceId b = state.fork(a, 8);
    auto step = begin(state, {{a, 1}, {b, 1}});
    EXPECT_THAT(step.copies(), IsEmpty());
    EXPECT_THAT(slots(step), ElementsAre(8, 12));
}

TEST(CopyOnWrite, TheChildCopiesWhereTheParentHasTokens) {
    PagedState state({{"kv", 4, 10}}, 3, 100);
    const SequenceId a = state.create();
    append(state, a, 8);  // pages 0 1
    const SequenceId b = state.fork(a, 6);
    auto step = begin(state, {{b, 1}});
    EXPECT_THAT(step.copies(), ElementsAre(PageCopy{0, 1, 2}));
    EXPECT_THAT(slots(step), ElementsAre(10));
    EXPECT_THAT(lists(step).pages, ElementsAre(0, 2));
    step.commit();
    EXPECT_THAT(pages(state, a), ElementsAre(0, 1));
    EXPECT_EQ(state.pages_in_use(0), 3);
    EXPECT_THAT(begin(state, {{b, 1}}).copies(), IsEmpty());
}

// Position 6 lies in the child's future, in a page that both hold.
TEST(CopyOnWrite, TheParentCopiesToo) {
    PagedState state({{"kv", 4, 10}}, 3, 100);
    const SequenceId a = state.create();
    append(state, a, 6);
    const SequenceId b = state.fork(a, 6);
    auto step = begin(state, {{a, 1}});
    EXPECT_THAT(step.copies(), ElementsAre(PageCopy{0, 1, 2}));
    step.commit();
    EXPECT_THAT(begin(state, {{b, 1}}).copies(), IsEmpty());
}

TEST(CopyOnWrite, AParentBeyondTheSharedPageWritesInPlace) {
    PagedState state({{"kv", 4, 10}}, 3, 100);
    const SequenceId a = state.create();
    append(state, a, 10);
    state.fork(a, 6);
    auto step = begin(state, {{a, 1}});
    EXPECT_THAT(step.copies(), IsEmpty());
    EXPECT_THAT(slots(step), ElementsAre(10));
}

TEST(CopyOnWrite, WhenAllHoldersWriteTheLongestKeepsThePage) {
    PagedState state({{"kv", 4, 10}}, 3, 100);
    const SequenceId a = state.create();
    append(state, a, 7);
    const SequenceId b = state.fork(a, 6), c = state.fork(a, 5);
    auto step = begin(state, {{a, 1}, {b, 1}, {c, 1}});
    EXPECT_THAT(step.copies(), ElementsAre(PageCopy{0, 1, 2}, PageCopy{0, 1, 3}));  // c, then b
    EXPECT_THAT(slots(step), ElementsAre(7, 14, 9));
    step.commit();
    EXPECT_EQ(state.pages_in_use(0), 4);
}

TEST(CopyOnWrite, AHolderThatOnlyReadsKeepsThePageToo) {
    PagedState state({{"kv", 4, 10}}, 3, 100);
    const SequenceId a = state.create();
    append(state, a, 6);
    const SequenceId b = state.fork(a, 6);
    auto step = begin(state, {{b, 0}, {a, 1}});
    EXPECT_THAT(step.copies(), ElementsAre(PageCopy{0, 1, 2}));
    EXPECT_THAT(lists(step).pages, ElementsAre(0, 1, 0, 2));
}

TEST(Windows, ACommitGivesUpWhatLiesWhollyBehind) {
    PagedState state({{"full", 4, 10}, {"local", 4, 10, 6}}, 1, 100);
    const SequenceId a = state.create();
    append(state, a, 8);  // the next token, at 8, looks at 3 and up
    EXPECT_EQ(state.pages_in_use(1), 2);
    EXPECT_EQ(first_page(state, a, 1), 0);
    append(state, a, 1);  // that at 9 at 4 and up: page 0 is behind
    EXPECT_EQ(state.pages_in_use(0), 3);
    EXPECT_EQ(state.pages_in_use(1), 2);
    EXPECT_EQ(first_page(state, a, 0), 0);
    EXPECT_EQ(first_page(state, a, 1), 1);
    EXPECT_THAT(pages(state, a, 0), ElementsAre(0, 1, 2));
    EXPECT_THAT(pages(state, a, 1), ElementsAre(1, 2));
}

TEST(Windows, AStepKeepsWhatItsFirstTokenLooksAt) {
    PagedState state({{"local", 4, 10, 6}}, 1, 100);
    const SequenceId a = state.create();
    append(state, a, 7);
    auto step = begin(state, {{a, 13}});
    EXPECT_THAT(lists(step).pages, ElementsAre(0, 1, 2, 3, 4));
    EXPECT_THAT(slots(step), ElementsAre(7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19));
    step.commit();
    EXPECT_THAT(pages(state, a), ElementsAre(3, 4));  // positions 12 to 19; the next looks at 15 and up
    EXPECT_EQ(first_page(state, a), 3);
    EXPECT_THAT(slots(begin(state, {{a, 1}})), ElementsAre(0));  // the lowest page came free last
}

TEST(Windows, ARolledBackStepKeepsEverything) {
    PagedState state({{"local", 4, 10, 6}}, 1, 100);
    const SequenceId a = state.create();
    append(state, a, 7);
    begin(state, {{a, 13}}).rollback();
    EXPECT_THAT(pages(state, a), ElementsAre(0, 1));
    EXPECT_EQ(state.pages_in_use(0), 2);
}

TEST(Windows, OfOneTokenKeepTheBegunPageOnly) {
    PagedState state({{"local", 4, 10, 1}}, 1, 100);
    const SequenceId a = state.create();
    append(state, a, 7);
    EXPECT_THAT(pages(state, a), ElementsAre(1));
    append(state, a, 1);
    EXPECT_EQ(state.pages_in_use(0), 0);
    EXPECT_EQ(first_page(state, a), 2);
    append(state, a, 1);
    EXPECT_EQ(state.pages_in_use(0), 1);
}

TEST(Windows, SayHowFarBackASequenceCanGo) {
    PagedState state({{"full", 4, 10}, {"local", 4, 10, 6}}, 3, 100);
    const SequenceId a = state.create();
    append(state, a, 8);
    EXPECT_EQ(state.shortest_cut(a), 0);
    append(state, a, 11);  // page 3 holds 12 to 15, and the token at 17 looks at 12 and up
    EXPECT_EQ(state.shortest_cut(a), 17);
    EXPECT_EQ(refusal([&] { state.truncate(a, 16); }),
              "sequence 0 cannot go back from 19 to 16 tokens: pages behind its window are gone, 17 is the "
              "fewest");
    EXPECT_THAT(refusal([&] { state.fork(a, 1); }), HasSubstr("from 19 to 1 tokens"));
    EXPECT_EQ(state.length(a), 19);
    const SequenceId b = state.fork(a, 17);
    state.truncate(a, 17);
    EXPECT_EQ(pages(state, a, 1), pages(state, b, 1));
    EXPECT_EQ(state.shortest_cut(a), 17);
    const SequenceId c = state.fork(a, 0);
    EXPECT_EQ(state.shortest_cut(c), 0);
    state.truncate(a, 0);
    EXPECT_EQ(state.shortest_cut(a), 0);
    EXPECT_THAT(pages(state, a, 1), IsEmpty());
    append(state, a, 5);
    EXPECT_EQ(first_page(state, a, 1), 0);
    for (SequenceId sequence : {a, b, c}) state.release(sequence);
    EXPECT_EQ(state.pages_in_use(1), 0);
}

TEST(Windows, SharedPagesStayUntilTheLastHolderHasPassed) {
    PagedState state({{"local", 4, 10, 6}}, 2, 100);
    const SequenceId a = state.create();
    append(state, a, 8);
    const SequenceId b = state.fork(a, 8);
    append(state, a, 5);  // leaves page 0 behind, which b still looks at
    EXPECT_THAT(pages(state, b), ElementsAre(0, 1));
    EXPECT_EQ(state.pages_in_use(0), 4);
    append(state, b, 1);
    EXPECT_EQ(state.pages_in_use(0), 4);  // page 0 gone, one more taken
}

TEST(NeededPages, OfAWindowDoNotGrowWithTheContext) {
    const auto needs = [](int64_t window, GroupLoad load) { return needed_pages(64, window, load); };
    const GroupNeeds gemma =
        needs(1024, {.sequences = 1, .tokens_per_sequence = 32768, .tokens_per_step = 512});
    EXPECT_EQ(gemma.pages, (1024 + 512) / 64 + 1);
    EXPECT_EQ(gemma.pages_per_sequence, gemma.pages);
    EXPECT_EQ(needs(0, {1, 32768, 512}).pages, 512);
    EXPECT_EQ(needs(1024, {1, 1000000, 512}).pages, gemma.pages);
    EXPECT_EQ(needs(1024, {1, 100, 512}).pages, 2);  // no more than the context has
    // Four windows, and the step's tokens once.
    EXPECT_EQ(needs(1024, {4, 32768, 512}).pages, 4 * 17 + 4 + 508 / 64);
}

TEST(Exhaustion, NamesTheGroupAndTheNumbersAndChangesNothing) {
    PagedState state({{"full", 4, 10}, {"narrow", 2, 4}}, 3, 100);
    const SequenceId a = state.create();
    append(state, a, 3);
    const SequenceId b = state.fork(a, 3);
    EXPECT_EQ(refusal([&] {
                  begin(state, {{b, 7}, {a, 1}});
              }),
              "state group narrow: the step needs 4 pages, but 2 of 4 are free");
    EXPECT_EQ(state.length(b), 3);
    EXPECT_EQ(state.free_pages(0), 9);
    EXPECT_EQ(state.free_pages(1), 2);
    EXPECT_EQ(pages(state, b, 1), pages(state, a, 1));
    append(state, b, 2);  // what fits still fits
    EXPECT_EQ(state.length(b), 5);
}

TEST(Exhaustion, TheLastPageCanBeUsed) {
    PagedState state({{"kv", 4, 2}}, 1, 100);
    const SequenceId a = state.create();
    append(state, a, 8);
    EXPECT_EQ(state.free_pages(0), 0);
    EXPECT_EQ(refusal([&] { append(state, a, 1); }),
              "state group kv: the step needs 1 pages, but 0 of 2 are free");
    EXPECT_EQ(refusal([&] { append(state, a, 92); }),
              "state group kv: the step needs 23 pages, but 0 of 2 are free");
}

TEST(Exhaustion, AnyPageMayFail) {
    for (int fails_at = 0; fails_at < 4; ++fails_at) {
        int asked = -1;
        PagedState state({{"full", 4, 10}, {"narrow", 2, 10}}, 3, 100,
                         {.page_fails = [&] { return asked >= 0 && asked++ == fails_at; }});
        const SequenceId a = state.create();
        append(state, a, 3);
        const SequenceId b = state.fork(a, 3);
        asked = 0;
        const std::string message = refusal([&] { begin(state, {{a, 3}, {b, 0}}); });
        asked = -1;
        EXPECT_THAT(message, HasSubstr(fails_at < 2 ? "full: the step needs 2" : "narrow: the step needs 2"))
            << fails_at;
        EXPECT_EQ(state.free_pages(0), 9);
        EXPECT_EQ(state.free_pages(1), 8);
        EXPECT_EQ(pages(state, a, 0), pages(state, b, 0));
        EXPECT_EQ(pages(state, a, 1), pages(state, b, 1));
    }
}

TEST(Limits, SequencesAndTheirLengths) {
    PagedState state({{"kv", 4, 10}}, 2, 6);
    const SequenceId a = state.create();
    append(state, a, 6);
    EXPECT_EQ(refusal([&] { append(state, a, 1); }),
              "sequence 0 holds 6 tokens and can hold 6: 1 more do not fit");
    EXPECT_THAT(refusal([&] { append(state, a, kMaxInt64); }), HasSubstr("do not fit"));
    state.create();
    EXPECT_EQ(refusal([&] { state.create(); }), "no room for another sequence: all 2 are in use");
    EXPECT_THAT(refusal([&] { state.fork(a, 3); }), HasSubstr("all 2 are in use"));
    EXPECT_EQ(state.pages_in_use(0), 2);
    append(state, a, 0);
}

std::string refused(std::vector<GroupSpec> groups, int sequences = 1, int64_t tokens = 100) {
    return refusal([&] { PagedState(std::move(groups), sequences, tokens); });
}

TEST(Limits, SizesThatCannotBe) {
    EXPECT_EQ(refused({{"kv", 0, 10}}),
              "state group kv: tokens per page must be from 1 to 2147483647, got 0");
    EXPECT_THAT(refused({{"kv", -1, 10}}), HasSubstr("tokens per page"));
    EXPECT_THAT(refused({{"kv", kMaxInt64, 10}}), HasSubstr("tokens per page"));
    EXPECT_THAT(refused({{"kv", 4, 0}}), HasSubstr("pages must be from 1"));
    EXPECT_THAT(refused({{"kv", 4, kMaxInt64}}), HasSubstr("pages must be from 1"));
    EXPECT_EQ(refused({{"kv", 65536, 32768}}),
              "state group kv: pages x tokens per page must be at most 2147483647, got 32768 x 65536");
    EXPECT_THAT(refused({{"kv", 1, 65536}}, 65536, 65536), HasSubstr("sequences x pages of each"));
    EXPECT_THAT(refused({}, 0), HasSubstr("sequences must be"));
    EXPECT_THAT(refused({}, -3), HasSubstr("sequences must be"));
    EXPECT_THAT(refused({}, 1, 0), HasSubstr("tokens per sequence"));
    EXPECT_THAT(refused({}, 1, kMaxInt64), HasSubstr("tokens per sequence"));
}

TEST(PagedStateDeathTest, WrongUse) {
    PagedState state({{"kv", 4, 10}}, 2, 100);
    const SequenceId a = state.create();
    append(state, a, 5);
    EXPECT_DEATH(state.release(1), "does not exist");
    EXPECT_DEATH(state.length(-1), "sequence number");
    EXPECT_DEATH(state.length(2), "sequence number");
    EXPECT_DEATH(state.truncate(a, 6), "tokens to keep");
    EXPECT_DEATH(state.truncate(a, -1), "tokens to keep");
    EXPECT_DEATH(state.fork(a, 6), "tokens to fork");
    EXPECT_DEATH(state.fork(1, 0), "does not exist");
    EXPECT_DEATH(begin(state, {{a, 1}, {a, 1}}), "twice in a step");
    EXPECT_DEATH(begin(state, {{a, -1}}), "tokens to append");
    EXPECT_DEATH(begin(state, {{1, 1}}), "does not exist");
    EXPECT_DEATH(state.free_pages(1), "state group number");
    EXPECT_DEATH(pages(state, a, -1), "state group number");
}

TEST(PagedStateDeathTest, WhileAStepIsOpen) {
    PagedState state({{"kv", 4, 10}}, 2, 100);
    const SequenceId a = state.create();
    auto step = begin(state, {{a, 5}});
    EXPECT_DEATH(state.create(), "while a step is open");
    EXPECT_DEATH(state.fork(a, 0), "while a step is open");
    EXPECT_DEATH(state.truncate(a, 0), "while a step is open");
    EXPECT_DEATH(state.release(a), "while a step is open");
    EXPECT_DEATH(begin(state, {}), "while a step is open");
    Ints small(1);
    EXPECT_DEATH(step.write_slots(0, small), "room for write slots");
    EXPECT_DEATH(step.page_lists(0, small, small), "room for page lists");
    EXPECT_DEATH(step.lengths({}), "room for lengths");
    EXPECT_DEATH(step.first_pages(0, {}), "room for first pages");
    step.commit();
    EXPECT_DEATH(step.commit(), "closed");
    EXPECT_DEATH(step.rollback(), "closed");
    EXPECT_DEATH(step.copies(), "closed");
}

}  // namespace
}  // namespace plait::state
