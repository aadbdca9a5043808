// Thousands of random operations against a naive model that keeps every sequence as a list of token values.
// The bytes a device would hold are simulated, copies and writes of steps that are later rolled back
// included; after every operation each sequence must read its own tokens back through its page lists, as far
// back as its next token would look.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "plait/base/error.h"
#include "plait/state/paged_state.h"

namespace plait::state {
namespace {

constexpr int kMaxSequences = 6;
constexpr int64_t kMaxTokens = 30;
constexpr int kNothing = -1;

using Tokens = std::vector<int>;

// What the groups and the steps of a simulation are like.
struct Scene {
    std::vector<GroupSpec> groups = {{"three", 3, 25},        {"one", 1, 90},
                                     {"large", 16, 9},        {"window five", 2, 30, 5},
                                     {"window one", 3, 8, 1}, {"window wide", 4, 34, 17}};
    int64_t step_tokens = 40;  // at most, over all sequences
    bool failures = true;
};

struct Outcome {
    Tokens lengths;                           // of the live sequences after each operation
    std::vector<std::vector<int32_t>> lists;  // where their tokens were
    int steps = 0, refused = 0, rolled_back = 0, copies = 0, forks = 0, beyond_windows = 0;
    int too_long = 0;                   // of the refused: for the sequence's length
    std::vector<int64_t> most_entries;  // of one sequence's list, by group
};

class Simulation {
  public:
    Simulation(uint32_t seed, TestOptions testing, Scene scene = {})
        : random_(seed),
          scene_(std::move(scene)),
          specs_(scene_.groups),
          state_(specs_, kMaxSequences, kMaxTokens, with_failures(std::move(testing))) {
        for (const GroupSpec& spec : specs_) memory_.emplace_back(spec.page_tokens * spec.pages, kNothing);
        outcome_.most_entries.resize(specs_.size());
    }

    Outcome run(int operations) {
        for (int i = 0; i < operations; ++i) {
            operate();
            check();
            if (testing::Test::HasFailure()) break;
        }
        return outcome_;
    }

  private:
    // How often a page is asked for depends on the operations alone, so the same seed fails at the same
    // pages.
    TestOptions with_failures(TestOptions options) {
        options.page_fails = [this] { return fail_next_ && below(4) == 0; };
        return options;
    }

    int below(int64_t limit) { return static_cast<int>(random_() % static_cast<uint64_t>(limit)); }

    SequenceId any_sequence() { return std::next(model_.begin(), below(model_.size()))->first; }

    void operate() {
        const int choice = below(100);
        if (model_.empty() || choice < 10) return create();
        if (choice < 25) return fork();
        if (choice < 32) return truncate();
        if (choice < 42) return release();
        step();
    }

    bool is_full() const { return model_.size() == kMaxSequences; }

    // Whether what would be the next token's window is no longer there: in each group pages are kept from the
    // one on that holds the first position of the present next token's window.
    bool is_beyond_windows(SequenceId sequence, int64_t tokens) {
        const auto length = static_cast<int64_t>(model_[sequence].size());
        bool beyond = false;
        for (const GroupSpec& spec : specs_) {
            const int64_t kept_from = window_begin(spec, length) / spec.page_tokens * spec.page_tokens;
            beyond |= tokens > 0 && window_begin(spec, tokens) < kept_from;
        }
        outcome_.beyond_windows += beyond;
        return beyond;
    }

    // The first position that the token at `position` looks at.
    static int64_t window_begin(const GroupSpec& spec, int64_t position) {
        return spec.window == 0 ? 0 : std::max<int64_t>(0, position - spec.window + 1);
    }

    void create() {
        if (is_full()) {
            EXPECT_THROW(state_.create(), Error);
            return;
        }
        const SequenceId created = state_.create();
        EXPECT_TRUE(model_.emplace(created, Tokens{}).second) << created << " is in use";
    }

    void fork() {
        const SequenceId parent = any_sequence();
        const int tokens = below(model_[parent].size() + 1);
        if (is_full() || is_beyond_windows(parent, tokens)) {
            EXPECT_THROW(state_.fork(parent, tokens), Error);
            return;
        }
        const SequenceId child = state_.fork(parent, tokens);
        const Tokens& from = model_[parent];
        EXPECT_TRUE(model_.emplace(child, Tokens(from.begin(), from.begin() + tokens)).second);
        ++outcome_.forks;
    }

    void truncate() {
        const SequenceId sequence = any_sequence();
        const int tokens = below(model_[sequence].size() + 1);
        if (is_beyond_windows(sequence, tokens)) {
            EXPECT_THROW(state_.truncate(sequence, tokens), Error);
            return;
        }
        state_.truncate(sequence, tokens);
        model_[sequence].resize(tokens);
    }

    void release() {
        const SequenceId sequence = any_sequence();
        state_.release(sequence);
        model_.erase(sequence);
    }

    std::vector<Append> random_appends() {
        std::vector<Append> appends;
        int64_t left = scene_.step_tokens;
        for (const auto& [sequence, tokens] : model_) {
            if (below(3) == 0) continue;
            appends.push_back({sequence, std::min<int64_t>(left, below(4) == 0 ? below(12) : below(3))});
            left -= appends.back().tokens;
        }
        std::shuffle(appends.begin(), appends.end(), random_);
        return appends;
    }

    void step() {
        const auto appends = random_appends();
        const bool too_long = std::ranges::any_of(appends, [&](const Append& append) {
            return state_.length(append.sequence) + append.tokens > kMaxTokens;
        });
        fail_next_ = scene_.failures && below(10) == 0;
        try {
            Step step = state_.begin(appends);
            fail_next_ = false;
            perform(step, appends);
        } catch (const Error&) {
            fail_next_ = false;
            ++outcome_.refused;
            outcome_.too_long += too_long;
        }
    }

    // Does on the simulated memory what a device would, then keeps or undoes the step.
    void perform(Step& step, const std::vector<Append>& appends) {
        Tokens values(step.tokens());
        for (int& value : values) value = next_value_++;
        copy_pages(step);
        for (int group = 0; group < state_.groups(); ++group) note_most(step, group);
        for (int group = 0; group < state_.groups(); ++group) {
            std::vector<int32_t> slots(values.size());
            step.write_slots(group, slots);
            for (size_t i = 0; i < slots.size(); ++i) memory_[group][slots[i]] = values[i];
        }
        ++outcome_.steps;
        if (below(4) == 0) {
            ++outcome_.rolled_back;
            if (below(2) == 0) step.rollback();
            return;
        }
        step.commit();
        auto value = values.begin();
        for (const Append& append : appends) {
            Tokens& tokens = model_[append.sequence];
            tokens.insert(tokens.end(), value, value + append.tokens);
            value += append.tokens;
        }
    }

    // In reverse, since the order must not matter.
    void copy_pages(const Step& step) {
        const auto copies = step.copies();
        for (auto copy = copies.rbegin(); copy != copies.rend(); ++copy) {
            const int64_t size = specs_[copy->group].page_tokens;
            const auto bytes = memory_[copy->group].begin();
            std::copy_n(bytes + copy->source * size, size, bytes + copy->destination * size);
            ++outcome_.copies;
        }
    }

    void note_most(const Step& step, int group) {
        std::vector<int32_t> offsets(step.appends() + 1), pages(step.list_entries(group));
        step.page_lists(group, offsets, pages);
        int64_t& entries = outcome_.most_entries[group];
        for (size_t i = 0; i + 1 < offsets.size(); ++i)
            entries = std::max<int64_t>(entries, offsets[i + 1] - offsets[i]);
    }

    void check() {
        std::vector<Append> all;
        for (const auto& [sequence, tokens] : model_) {
            EXPECT_EQ(state_.length(sequence), static_cast<int64_t>(tokens.size()));
            outcome_.lengths.push_back(static_cast<int>(tokens.size()));
            all.push_back({sequence, 0});
        }
        const Step reader = state_.begin(all);
        for (int group = 0; group < state_.groups(); ++group) check_group(reader, group);
    }

    void check_group(const Step& reader, int group) {
        std::vector<int32_t> offsets(reader.appends() + 1), pages(reader.list_entries(group));
        reader.page_lists(group, offsets, pages);
        std::vector<int32_t> first(reader.appends());
        reader.first_pages(group, first);
        const int64_t size = specs_[group].page_tokens;
        size_t i = 0;
        for (const auto& [sequence, tokens] : model_) {
            const auto page_of = [&](int64_t t) { return pages[offsets[i] + t / size - first[i]]; };
            const auto length = static_cast<int64_t>(tokens.size());
            for (int64_t t = window_begin(specs_[group], length); t < length; ++t)
                ASSERT_EQ(memory_[group][page_of(t) * size + t % size], tokens[t])
                    << "sequence " << sequence << ", token " << t << ", group " << specs_[group].name;
            ++i;
        }
        const std::set<int32_t> distinct(pages.begin(), pages.end());
        ASSERT_EQ(state_.pages_in_use(group), static_cast<int64_t>(distinct.size()));
        ASSERT_EQ(state_.pages_in_use(group) + state_.free_pages(group), specs_[group].pages);
        outcome_.lists.push_back(std::move(pages));
    }

    std::mt19937_64 random_;
    const Scene scene_;
    std::vector<GroupSpec> specs_;
    bool fail_next_ = false;
    PagedState state_;
    std::vector<Tokens> memory_;          // per group: the token at each slot
    std::map<SequenceId, Tokens> model_;  // live sequences
    int next_value_ = 0;
    Outcome outcome_;
};

TEST(Model, EverySequenceReadsItsOwnTokens) {
    Outcome sum;
    for (uint32_t seed = 0; seed < 20 && !HasFailure(); ++seed) {
        SCOPED_TRACE(seed);
        const Outcome outcome = Simulation(seed, {}).run(1000);
        sum.steps += outcome.steps;
        sum.refused += outcome.refused;
        sum.rolled_back += outcome.rolled_back;
        sum.copies += outcome.copies;
        sum.forks += outcome.forks;
        sum.beyond_windows += outcome.beyond_windows;
    }
    // The operations must vary, or the test shows nothing.
    EXPECT_GT(sum.steps, 3000);
    EXPECT_GT(sum.refused, 300);
    EXPECT_GT(sum.rolled_back, 500);
    EXPECT_GT(sum.copies, 500);
    EXPECT_GT(sum.forks, 500);
    EXPECT_GT(sum.beyond_windows, 200);
}

// With the pages that needed_pages() asks for no step is refused, whatever is shared; and it does not ask for
// more than what happens.
TEST(Model, NeededPagesAreEnoughAndNotTooMany) {
    const std::vector<GroupSpec> kinds = {
        {"full", 3, 0},   {"full of large", 16, 0},   {"narrow", 2, 0, 5},
        {"one", 3, 0, 1}, {"single tokens", 1, 0, 4}, {"beyond", 4, 0, 100}};
    for (int64_t step_tokens : {1, 4, 11}) {
        Scene scene{.groups = kinds, .step_tokens = step_tokens, .failures = false};
        std::vector<GroupNeeds> needs;
        for (GroupSpec& spec : scene.groups) {
            needs.push_back(needed_pages(spec.page_tokens, spec.window,
                                         {.sequences = kMaxSequences,
                                          .tokens_per_sequence = kMaxTokens,
                                          .tokens_per_step = step_tokens}));
            spec.pages = needs.back().pages;
        }
        std::vector<int64_t> most(kinds.size());
        for (uint32_t seed = 0; seed < 10 && !HasFailure(); ++seed) {
            const Outcome outcome = Simulation(seed, {}, scene).run(1000);
            EXPECT_EQ(outcome.refused, outcome.too_long) << step_tokens;
            for (size_t group = 0; group < kinds.size(); ++group)
                most[group] = std::max(most[group], outcome.most_entries[group]);
        }
        for (size_t group = 0; group < kinds.size(); ++group) {
            EXPECT_LE(most[group], needs[group].pages_per_sequence) << kinds[group].name;
            EXPECT_GE(most[group] + 1, needs[group].pages_per_sequence) << kinds[group].name;
        }
    }
}

TEST(Model, TheSameOperationsGiveTheSamePages) {
    EXPECT_EQ(Simulation(99, {}).run(500).lists, Simulation(99, {}).run(500).lists);
}

TEST(Model, PlacementDoesNotMatter) {
    const Outcome plain = Simulation(7, {}).run(1000);
    for (uint64_t order : {1, 2, 3}) {
        const Outcome shuffled = Simulation(7, {.page_order_seed = order}).run(1000);
        EXPECT_EQ(shuffled.lengths, plain.lengths);
        EXPECT_NE(shuffled.lists, plain.lists);
    }
}

}  // namespace
}  // namespace plait::state
