#include "plait/sample/sampler.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "plait/base/error.h"

namespace plait::sample {
namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr Params kGreedy{.temperature = 0};

using Logits = std::vector<float>;
using Tokens = std::vector<int32_t>;

Logits random_logits(size_t size, uint32_t seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, 2);
    Logits logits(size);
    for (float& logit : logits) logit = normal(random);
    return logits;
}

Tokens text(const Params& params, uint32_t sequence, int length) {
    const Logits logits = random_logits(500, 3);
    Sampler sampler(params, 500, sequence);
    Tokens tokens;
    for (int position = 0; position < length; ++position) {
        tokens.push_back(sampler.sample(logits, position));
        sampler.accept(tokens.back());
    }
    return tokens;
}

std::string refusal(const Params& params, const Logits& logits) {
    try {
        Sampler(params, static_cast<int32_t>(logits.size()), 0).sample(logits, 12);
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

TEST(Sampler, GreedyTakesTheBestAndTheLowestIdAmongEquals) {
    EXPECT_EQ(Sampler(kGreedy, 4, 0).sample(Logits{1, 5, 5, 2}, 0), 1);
    EXPECT_EQ(Sampler({.temperature = -1}, 4, 0).sample(Logits{kMasked, -7, kMasked, -7}, 0), 1);
    EXPECT_EQ(Sampler(kGreedy, 1, 0).sample(Logits{-3}, 0), 0);
}

TEST(Sampler, GreedyComesAfterPenalties) {
    Sampler sampler({.presence_penalty = 2, .temperature = 0}, 3, 0);
    const Logits logits = {1, 3, 2};
    EXPECT_EQ(sampler.sample(logits, 0), 1);
    sampler.accept(1);
    EXPECT_EQ(sampler.sample(logits, 1), 2);
    sampler.accept(2);
    EXPECT_EQ(sampler.sample(logits, 2), 0);  // 1, 1, 0: the lowest id
}

TEST(Sampler, TopKOfOneIsGreedyAtAnyTemperature) {
    const Logits logits = random_logits(300, 8);
    const int32_t best = Sampler(kGreedy, 300, 0).sample(logits, 0);
    Sampler sampler({.top_k = 1, .temperature = 50}, 300, 0);
    for (int position = 0; position < 100; ++position) EXPECT_EQ(sampler.sample(logits, position), best);
}

TEST(Sampler, VocabularyOfOne) {
    for (int32_t top_k : {0, 1, 40})
        EXPECT_EQ(Sampler({.top_k = top_k}, 1, 0).sample(Logits{-1e30f}, 0), 0) << top_k;
}

TEST(Sampler, TopKBeyondTheVocabularyIsOff) {
    const Logits logits = random_logits(60, 2);
    Sampler off({.top_k = 0, .top_p = 1, .min_p = 0}, 60, 0);
    for (int32_t top_k : {60, 61, std::numeric_limits<int32_t>::max()}) {
        Sampler large({.top_k = top_k, .top_p = 1, .min_p = 0}, 60, 0);
        for (int position = 0; position < 100; ++position)
            EXPECT_EQ(large.sample(logits, position), off.sample(logits, position)) << top_k;
    }
}

TEST(Sampler, TheSameKeyGivesTheSameText) {
    EXPECT_EQ(text({.seed = 7}, 0, 50), text({.seed = 7}, 0, 50));
    EXPECT_NE(text({.seed = 7}, 0, 50), text({.seed = 8}, 0, 50));
    EXPECT_NE(text({.seed = 7}, 0, 50), text({.seed = 7}, 1, 50));
}

TEST(Sampler, ADrawDependsOnItsPositionNotOnEarlierDraws) {
    const Logits logits = random_logits(500, 3);
    const Tokens forward = text({.seed = 9}, 4, 20);
    Sampler backward({.seed = 9}, 500, 4);
    for (int position = 19; position >= 0; --position)
        EXPECT_EQ(backward.sample(logits, position), forward[position]) << position;
    EXPECT_GT(std::set<int32_t>(forward.begin(), forward.end()).size(), 5u);
}

// Computed by an independent program from the definitions in gumbel.h; every machine and compiler must draw
// them.
TEST(Sampler, FirstTokensAreFixed) {
    Logits logits(1000);
    for (int i = 0; i < 1000; ++i) logits[i] = static_cast<float>(i * 7919 % 1000) / 100;
    Sampler sampler({.seed = 1234}, 1000, 0);
    Tokens tokens;
    for (int position = 0; position < 8; ++position) tokens.push_back(sampler.sample(logits, position));
    EXPECT_EQ(tokens, (Tokens{877, 531, 852, 321, 272, 877, 210, 568}));
}

TEST(Sampler, MaskedTokensAreNeverDrawn) {
    Logits logits(50, kMasked);
    logits[17] = -20;
    logits[33] = -21;
    for (const Params& params : {Params{}, Params{.top_k = 0, .top_p = 1, .min_p = 0, .temperature = 100}}) {
        Sampler sampler(params, 50, 0);
        std::set<int32_t> seen;
        for (int position = 0; position < 200; ++position) seen.insert(sampler.sample(logits, position));
        EXPECT_EQ(seen, (std::set<int32_t>{17, 33}));
    }
}

TEST(Sampler, BrokenLogitsAreAnErrorNeverAToken) {
    for (const Params& params : {Params{}, kGreedy, Params{.repeat_penalty = 2}, Params{.top_k = 0}}) {
        EXPECT_EQ(refusal(params, {0, kNan, 0}),
                  "the logit of token 1 is nan, expected a finite number or -inf: the model's weights or its "
                  "computation are broken");
        EXPECT_EQ(refusal(params, {kMasked, kMasked}),
                  "no token can follow at position 12: expected at least one finite logit, but all are -inf");
        EXPECT_NE(refusal(params, {0, std::numeric_limits<float>::infinity()}), "");
    }
}

TEST(Sampler, RefusesInvalidParameters) { EXPECT_THROW(Sampler({.top_p = -1}, 5, 0), Error); }

TEST(SamplerDeathTest, WrongNumberOfLogits) {
    EXPECT_DEATH(Sampler({}, 5, 0).sample(Logits(4), 0), "logits of a sampler");
    EXPECT_DEATH(Sampler({}, 0, 0), "vocabulary of a sampler");
}

}  // namespace
}  // namespace plait::sample
