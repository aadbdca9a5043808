#include "plait/choice/exp_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace plait::choice {
namespace {

std::vector<float> random_logits(size_t count, float spread, uint32_t seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, spread);
    std::vector<float> logits(count);
    for (float& logit : logits) logit = normal(random);
    return logits;
}

ExpSum sum_of(const std::vector<float>& logits, size_t begin, size_t end) {
    ExpSum sum;
    for (size_t i = begin; i < end; ++i) sum.add(logits[i]);
    return sum;
}
ExpSum sum_of(const std::vector<float>& logits) { return sum_of(logits, 0, logits.size()); }

TEST(ExpSum, GivesProbabilities) {
    for (const float spread : {0.1f, 3.0f, 40.0f, 1000.0f}) {
        const auto logits = random_logits(3000, spread, 5);
        const double highest = *std::ranges::max_element(logits);
        double whole = 0;
        for (const float logit : logits) whole += std::exp(logit - highest);
        const ExpSum sum = sum_of(logits);
        for (const float logit : logits)
            ASSERT_NEAR(sum.term(logit) / sum.total(), std::exp(logit - highest) / whole, 2e-12) << spread;
    }
}

// Whatever the order and wherever it is cut.
TEST(ExpSum, IsTheSameBitsForAnyOrderAndCut) {
    std::mt19937 random(9);
    for (const float spread : {0.0f, 3.0f, 60.0f}) {
        auto logits = random_logits(2000, spread, 7);
        const ExpSum expected = sum_of(logits);
        for (int trial = 0; trial < 20; ++trial) {
            std::ranges::shuffle(logits, random);
            ASSERT_EQ(sum_of(logits), expected);
            const size_t cut = random() % logits.size();
            ExpSum joined = sum_of(logits, cut, logits.size());
            joined.add(sum_of(logits, 0, cut));
            ASSERT_EQ(joined, expected) << "cut at " << cut;
        }
    }
}

TEST(ExpSum, OfNothingAddsNothing) {
    ExpSum sum = sum_of({1, 2});
    sum.add(ExpSum());
    EXPECT_EQ(sum, sum_of({1, 2}));
    ExpSum empty;
    empty.add(sum);
    EXPECT_EQ(empty, sum);
    EXPECT_EQ(ExpSum().total(), 0);
}

TEST(ExpSum, EqualLogitsAreEquallyProbableHoweverLarge) {
    for (const float logit : {0.0f, -0.0f, 1e-30f, 88.7f, -1e6f, 3e6f, 1e12f, -1e20f, 3.4e38f, -3.4e38f}) {
        const ExpSum sum = sum_of({logit, logit, logit, logit});
        EXPECT_EQ(sum.term(logit) * 4, sum.total()) << logit;
    }
}

TEST(ExpSum, WhatIsFarBelowTheLargestCountsForNothing) {
    for (const float high : {50.0f, 1e9f, 1.2e12f, 3e38f}) {
        for (const float low : {-50.0f, -1e9f, -1.2e12f, -3e38f}) {
            const ExpSum rising = sum_of({low, high}), falling = sum_of({high, low});
            EXPECT_EQ(rising, falling);
            EXPECT_EQ(rising.term(high), rising.total()) << high << ", " << low;
            EXPECT_LT(rising.term(low), rising.total() * 1e-30) << high << ", " << low;
        }
    }
}

// Neighbours on both sides of where a term is no longer computed.
TEST(ExpSum, OrderIsKeptWhereLogitsGetHuge) {
    for (const float sign : {1.0f, -1.0f}) {
        const float edge = sign * 0x1p40f;
        const float below = std::nextafter(edge, -3e38f), above = std::nextafter(edge, 3e38f);
        const ExpSum low = sum_of({below, edge}), high = sum_of({above, edge});
        EXPECT_EQ(low.term(edge), low.total());
        EXPECT_EQ(low.term(below), 0);
        EXPECT_EQ(high.term(above), high.total());
        EXPECT_EQ(high.term(edge), 0);
    }
}

}  // namespace
}  // namespace plait::choice
