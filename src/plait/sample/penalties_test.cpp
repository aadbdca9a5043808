#include "plait/sample/penalties.h"

#include <gtest/gtest.h>

#include <vector>

#include "plait/base/error.h"

namespace plait::sample {
namespace {

using Logits = std::vector<float>;

Logits applied(Penalties& penalties, const Logits& logits) {
    const auto changed = penalties.apply(logits);
    return {changed.begin(), changed.end()};
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

using Changes = std::vector<choice::Change>;

Changes changes_of(const Penalties& penalties) {
    return {penalties.changes().begin(), penalties.changes().end()};
}

TEST(Penalties, ChangesAreSortedAndSingle) {
    Penalties penalties({.biases = {{5, 1}, {2, -1}}, .repeat_penalty = 2, .repeat_last_n = 4}, 9);
    EXPECT_EQ(changes_of(penalties), (Changes{{2, 0, -1}, {5, 0, 1}}));
    for (int32_t token : {7, 2, 0, 7}) penalties.accept(token);
    EXPECT_EQ(changes_of(penalties), (Changes{{0, 1, 0}, {2, 1, -1}, {5, 0, 1}, {7, 2, 0}}));
    for (int32_t token : {8, 8, 8}) penalties.accept(token);  // 7, 2 and 0 leave
    EXPECT_EQ(changes_of(penalties), (Changes{{2, 0, -1}, {5, 0, 1}, {7, 1, 0}, {8, 3, 0}}));
}

TEST(Penalties, BiasesNeedNoPenalties) {
    Penalties penalties({.biases = {{1, 2}}}, 3);
    penalties.accept(0);
    EXPECT_EQ(applied(penalties, {1, 1, 1}), (Logits{1, 3, 1}));
}

TEST(Penalties, RefusesBiasesOfNoTokenOrTwice) {
    for (const int32_t id : {-1, 3}) EXPECT_THROW(Penalties({.biases = {{id, 1}}}, 3), Error) << id;
    EXPECT_THROW(Penalties({.biases = {{1, 1}, {2, 1}, {1, 2}}}, 3), Error);
}

TEST(PenaltiesDeathTest, TokensOutsideTheVocabulary) {
    Penalties penalties({.repeat_penalty = 2}, 2);
    EXPECT_DEATH(penalties.accept(2), "accepted token");
    EXPECT_DEATH(penalties.accept(-1), "accepted token");
}

}  // namespace
}  // namespace plait::sample
