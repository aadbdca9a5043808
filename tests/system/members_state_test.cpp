#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "support.h"

// State that is cut over members: whatever sequences share, give back and forget, in batches of any shape,
// several members say what one says.
namespace plait::system_test {
namespace {

using engine::Engine;
using engine::EngineOptions;
using engine::Feed;
using engine::Logits;
using engine::Outcome;
using engine::SequenceId;

struct Setting {
    const char* devices;
    const char* architecture;
    double bound;
};

constexpr int kSequences = 4;
constexpr int64_t kContext = 96;
constexpr int64_t kVocabulary = 301;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kActs = 40;
#else
constexpr int kActs = 250;
#endif

// Windows, where there are any, are much smaller than the texts and no multiple of a page.
EngineOptions state_options(const Setting& setting, const char* devices) {
    const bool windows = std::string(setting.architecture) != "llama";
    EngineOptions options =
        options_for(synth_model(setting.architecture,
                                std::string("layers=6,width=96,heads=6,kv_heads=3,ffn=96,vocab=301,ctx=256") +
                                    (windows ? ",window=20,head_dim=16" : ""),
                                "Q4_0"),
                    kContext);
    options.devices = devices;
    options.exact = true;
    options.key_type = options.value_type = dtype::DType::F32;
    options.page_tokens = 8;
    options.max_sequences = kSequences;
    options.split.check_members = true;
    return options;
}

// The same acts on two engines, side by side.
class Twins {
  public:
    Twins(const Setting& setting, uint32_t seed)
        : setting_(setting),
          random_(seed),
          one_(shuffled(state_options(setting, "cpu"), seed)),
          many_(shuffled(state_options(setting, setting.devices), seed + 1)) {}

    void act() {
        switch (below(8)) {
            case 0:
                return create();
            case 1:
                return fork();
            case 2:
                return truncate();
            case 3:
                return release();
            default:
                return step();
        }
    }

    int64_t forks() const { return forks_; }
    int64_t cuts() const { return cuts_; }
    int64_t rows() const { return rows_; }

  private:
    // Each hands out its pages in an order of its own: page numbers mean nothing.
    static EngineOptions shuffled(EngineOptions options, uint64_t seed) {
        options.testing.page_order_seed = seed;
        return options;
    }

    int64_t below(int64_t bound) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(bound)); }
    SequenceId any() { return live_[static_cast<size_t>(below(static_cast<int64_t>(live_.size())))]; }

    void create() {
        if (live_.size() == kSequences) return;
        live_.push_back(one_.create_sequence());
        ASSERT_EQ(many_.create_sequence(), live_.back());
    }

    // A length to which the sequence can be cut: none, or one the windows still allow.
    int64_t some_cut(SequenceId sequence) {
        const int64_t shortest = one_.shortest_cut(sequence), length = one_.length(sequence);
        EXPECT_EQ(many_.shortest_cut(sequence), shortest);
        if (below(5) == 0 || shortest > length) return 0;
        return shortest + below(length - shortest + 1);
    }

    void fork() {
        if (live_.empty() || live_.size() == kSequences) return;
        const SequenceId parent = any();
        const int64_t tokens = some_cut(parent);
        live_.push_back(one_.fork_sequence(parent, tokens));
        ASSERT_EQ(many_.fork_sequence(parent, tokens), live_.back());
        if (tokens > 0) ++forks_;
    }

    void truncate() {
        if (live_.empty()) return;
        const SequenceId sequence = any();
        const int64_t tokens = some_cut(sequence);
        if (tokens > 0 && tokens < one_.length(sequence)) ++cuts_;
        one_.truncate_sequence(sequence, tokens);
        many_.truncate_sequence(sequence, tokens);
    }

    void release() {
        if (live_.empty() || below(3) != 0) return;
        const SequenceId sequence = any();
        one_.release_sequence(sequence);
        many_.release_sequence(sequence);
        std::erase(live_, sequence);
    }

    // Some sequences in any order, each with one token or with many.
    void step() {
        std::vector<SequenceId> order = live_;
        std::ranges::shuffle(order, random_);
        std::vector<std::vector<int32_t>> ids;
        std::vector<Feed> feeds;
        for (const SequenceId sequence : order) {
            if (below(4) == 0) continue;
            const int64_t room = kContext - one_.length(sequence);
            const int64_t tokens = std::min<int64_t>(room, below(2) == 0 ? 1 : 1 + below(16));
            if (tokens == 0) continue;
            ids.push_back(
                random_ids(static_cast<size_t>(tokens), kVocabulary, static_cast<uint32_t>(random_())));
            feeds.push_back({sequence, {}, static_cast<Logits>(below(3))});
        }
        for (size_t i = 0; i < feeds.size(); ++i) feeds[i].tokens = ids[i];
        if (feeds.empty()) return;
        ASSERT_EQ(one_.step(feeds), Outcome::done);
        ASSERT_EQ(many_.step(feeds), Outcome::done);
        compare();
    }

    void compare() {
        ASSERT_EQ(many_.logit_rows(), one_.logit_rows());
        for (int64_t row = 0; row < one_.logit_rows(); ++row, ++rows_) {
            const std::span<const float> expected = one_.logits(row), actual = many_.logits(row);
            double difference = 0, size = 0;
            for (size_t i = 0; i < expected.size(); ++i) {
                difference += std::pow(static_cast<double>(actual[i]) - expected[i], 2);
                size += std::pow(static_cast<double>(expected[i]), 2);
            }
            ASSERT_LE(difference, setting_.bound * size) << "row " << row;
        }
        ASSERT_EQ(free_pages(many_), free_pages(one_));
    }

    const Setting setting_;
    std::mt19937 random_;
    Engine one_, many_;
    std::vector<SequenceId> live_;
    int64_t forks_ = 0, cuts_ = 0, rows_ = 0;
};

class MembersState : public testing::TestWithParam<Setting> {};
INSTANTIATE_TEST_SUITE_P(Settings, MembersState,
                         testing::Values(Setting{"cpu*2", "llama", 1e-9}, Setting{"cpu*3", "llama", 1e-9},
                                         Setting{"cpu*5", "llama", 1e-9}, Setting{"cpu*2", "gemma3", 1e-6},
                                         Setting{"cpu*3", "gemma3", 1e-6}, Setting{"cpu*5", "gemma3", 1e-6},
                                         Setting{"cpu,sim", "gemma3", 1e-6}),
                         [](const auto& setting) {
                             std::string name =
                                 std::string(setting.param.architecture) + "_" + setting.param.devices;
                             std::ranges::replace_if(
                                 name, [](char c) { return c == '*' || c == ','; }, '_');
                             return name;
                         });

TEST_P(MembersState, AnyOrderOfActsSaysWhatOneMemberSays) {
    Twins twins(GetParam(), 11);
    for (int act = 0; act < kActs; ++act) {
        twins.act();
        if (HasFatalFailure()) FAIL() << "act " << act;
    }
    EXPECT_GE(twins.forks(), kActs / 40);
    EXPECT_GE(twins.cuts(), kActs / 40);
    EXPECT_GE(twins.rows(), kActs);
}

}  // namespace
}  // namespace plait::system_test
