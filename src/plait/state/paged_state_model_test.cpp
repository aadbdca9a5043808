// Thousands of random operations against a naive model that keeps every sequence as a list of token values.
// The bytes a device would hold are simulated, copies and writes of steps that are later rolled back
// included; after every operation each sequence must read its own tokens back through its page lists.
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

struct Outcome {
    Tokens lengths;                           // of the live sequences after each operation
    std::vector<std::vector<int32_t>> lists;  // where their tokens were
    int steps = 0, refused = 0, rolled_back = 0, copies = 0, forks = 0;
};

class Simulation {
  public:
    Simulation(uint32_t seed, TestOptions testing)
        : random_(seed),
          specs_({{"three", 3, 25}, {"one", 1, 90}, {"large", 16, 9}}),
          state_(specs_, kMaxSequences, kMaxTokens, with_failures(std::move(testing))) {
        for (const GroupSpec& spec : specs_) memory_.emplace_back(spec.page_tokens * spec.pages, kNothing);
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
        if (is_full()) {
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
        for (const auto& [sequence, tokens] : model_)
            if (below(3) != 0) appends.push_back({sequence, below(4) == 0 ? below(12) : below(3)});
        std::shuffle(appends.begin(), appends.end(), random_);
        return appends;
    }

    void step() {
        const auto appends = random_appends();
        fail_next_ = below(10) == 0;
        try {
            Step step = state_.begin(appends);
            fail_next_ = false;
            perform(step, appends);
        } catch (const Error&) {
            fail_next_ = false;
            ++outcome_.refused;
        }
    }

    // Does on the simulated memory what a device would, then keeps or undoes the step.
    void perform(Step& step, const std::vector<Append>& appends) {
        Tokens values(step.tokens());
        for (int& value : values) value = next_value_++;
        copy_pages(step);
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
        const int64_t size = specs_[group].page_tokens;
        size_t i = 0;
        for (const auto& [sequence, tokens] : model_) {
            const int32_t* list = pages.data() + offsets[i++];
            for (int64_t t = 0; t < static_cast<int64_t>(tokens.size()); ++t)
                ASSERT_EQ(memory_[group][list[t / size] * size + t % size], tokens[t])
                    << "sequence " << sequence << ", token " << t << ", group " << specs_[group].name;
        }
        const std::set<int32_t> distinct(pages.begin(), pages.end());
        ASSERT_EQ(state_.pages_in_use(group), static_cast<int64_t>(distinct.size()));
        ASSERT_EQ(state_.pages_in_use(group) + state_.free_pages(group), specs_[group].pages);
        outcome_.lists.push_back(std::move(pages));
    }

    std::mt19937_64 random_;
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
    }
    // The operations must vary, or the test shows nothing.
    EXPECT_GT(sum.steps, 3000);
    EXPECT_GT(sum.refused, 300);
    EXPECT_GT(sum.rolled_back, 500);
    EXPECT_GT(sum.copies, 500);
    EXPECT_GT(sum.forks, 500);
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
