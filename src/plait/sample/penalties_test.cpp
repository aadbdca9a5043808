#include "plait/sample/penalties.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace plait::sample {
namespace {

using Logits = std::vector<float>;

Logits applied(Penalties& penalties, const Logits& logits) {
    const auto changed = penalties.apply(logits);
    return {changed.begin(), changed.end()};
}

TEST(Penalised, Formula) {
    const Params repeat{.repeat_penalty = 2};
    EXPECT_EQ(penalised(3, 0, repeat), 3);
    EXPECT_EQ(penalised(3, 1, repeat), 1.5);
    EXPECT_EQ(penalised(3, 7, repeat), 1.5);
    EXPECT_EQ(penalised(-3, 1, repeat), -6);
    EXPECT_EQ(penalised(0, 1, repeat), 0);
    const Params both{.presence_penalty = 0.5, .frequency_penalty = 0.25};
    EXPECT_EQ(penalised(3, 0, both), 3);
    EXPECT_EQ(penalised(3, 1, both), 2.25);
    EXPECT_EQ(penalised(3, 4, both), 1.5);
    EXPECT_EQ(penalised(-3, 4, both), -4.5);
    const Params all{.repeat_penalty = 1.5, .presence_penalty = -0.5, .frequency_penalty = 0.25};
    EXPECT_EQ(penalised(3, 2, all), 2);
}

TEST(Penalised, MaskedStaysMasked) {
    const float masked = -std::numeric_limits<float>::infinity();
    EXPECT_EQ(penalised(masked, 3, {.repeat_penalty = 2, .presence_penalty = -5}), masked);
}

TEST(Penalties, CountsOnlyTheWindow) {
    Penalties penalties({.repeat_last_n = 3, .frequency_penalty = 1}, 4);
    EXPECT_EQ(applied(penalties, {0, 0, 0, 0}), (Logits{0, 0, 0, 0}));
    for (int32_t token : {0, 1, 1}) penalties.accept(token);
    EXPECT_EQ(applied(penalties, {0, 0, 0, 0}), (Logits{-1, -2, 0, 0}));
    penalties.accept(1);  // 0 leaves
    EXPECT_EQ(applied(penalties, {0, 0, 0, 0}), (Logits{0, -3, 0, 0}));
    penalties.accept(3);
    penalties.accept(2);
    EXPECT_EQ(applied(penalties, {9, 9, 9, 9}), (Logits{9, 8, 8, 8}));
}

TEST(Penalties, WindowOfOne) {
    Penalties penalties({.repeat_last_n = 1, .presence_penalty = 1}, 2);
    penalties.accept(0);
    penalties.accept(1);
    EXPECT_EQ(applied(penalties, {0, 0}), (Logits{0, -1}));
}

TEST(Penalties, MinusOneRemembersEverything) {
    Penalties penalties({.repeat_last_n = -1, .frequency_penalty = 1}, 2);
    for (int i = 0; i < 1000; ++i) penalties.accept(i % 2);
    EXPECT_EQ(applied(penalties, {0, 0}), (Logits{-500, -500}));
}

TEST(Penalties, OffMeansTheSameLogits) {
    const Logits logits = {1, 2};
    for (const Params& params : {Params{}, Params{.repeat_penalty = 2, .repeat_last_n = 0}}) {
        Penalties penalties(params, 2);
        penalties.accept(0);
        EXPECT_EQ(penalties.apply(logits).data(), logits.data());
    }
}

TEST(PenaltiesDeathTest, TokensOutsideTheVocabulary) {
    Penalties penalties({.repeat_penalty = 2}, 2);
    EXPECT_DEATH(penalties.accept(2), "accepted token");
    EXPECT_DEATH(penalties.accept(-1), "accepted token");
}

}  // namespace
}  // namespace plait::sample
