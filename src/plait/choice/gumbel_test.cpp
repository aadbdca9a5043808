#include "plait/choice/gumbel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace plait::choice {
namespace {

constexpr int kDraws = 200000;

TEST(Uniform, MeanVarianceAndBounds) {
    double sum = 0, squares = 0;
    for (int id = 0; id < kDraws; ++id) {
        const double u = uniform(noise_bits({.seed = 1}, id));
        ASSERT_GT(u, 0);
        ASSERT_LT(u, 1);
        sum += u;
        squares += u * u;
    }
    const double mean = sum / kDraws;
    EXPECT_NEAR(mean, 0.5, 0.003);  // 4.6 standard errors
    EXPECT_NEAR(squares / kDraws - mean * mean, 1.0 / 12, 0.001);
}

TEST(Gumbel, MeanAndVariance) {
    double sum = 0, squares = 0;
    for (int position = 0; position < kDraws; ++position) {
        const double g = gumbel({.seed = 2, .position = position}, 5);
        ASSERT_LT(std::abs(g), 37);
        sum += g;
        squares += g * g;
    }
    const double mean = sum / kDraws;
    EXPECT_NEAR(mean, 0.5772156649, 0.014);                           // Euler's constant; 4.9 standard errors
    EXPECT_NEAR(squares / kDraws - mean * mean, 1.6449340668, 0.05);  // pi^2 / 6
}

TEST(Gumbel, IsTheFormula) {
    const DrawKey key{.seed = 3, .sequence = 4, .position = 5};
    for (int id = 0; id < 100; ++id)
        EXPECT_NEAR(gumbel(key, id), -std::log(-std::log(uniform(noise_bits(key, id)))), 1e-13) << id;
}

TEST(Gumbel, DependsOnEveryPartOfItsKey) {
    const double base = gumbel({}, 0);
    EXPECT_EQ(gumbel({}, 0), base);
    EXPECT_NE(gumbel({}, 1), base);
    EXPECT_NE(gumbel({.seed = 1}, 0), base);
    EXPECT_NE(gumbel({.seed = uint64_t{1} << 32}, 0), base);
    EXPECT_NE(gumbel({.sequence = 1}, 0), base);
    EXPECT_NE(gumbel({.position = 1}, 0), base);
    EXPECT_NE(gumbel({.position = int64_t{1} << 32}, 0), base);
    EXPECT_TRUE(std::isfinite(gumbel({.seed = ~uint64_t{0}, .sequence = ~0u, .position = -1},
                                     std::numeric_limits<int32_t>::max())));
}

// The words of the first known answer of philox_test.cpp, turned into a number by hand.
TEST(Uniform, IsMadeOfTheFirst52Bits) {
    EXPECT_EQ(noise_bits({}, 0), 0x6627e8d5e169c);
    EXPECT_EQ(uniform(noise_bits({}, 0)),
              (static_cast<double>(0x6627e8d5e169c) + 0.5) / static_cast<double>(uint64_t{1} << 52));
}

TEST(GumbelBound, HoldsAndIsTight) {
    constexpr uint64_t kAll = (uint64_t{1} << 52) - 1;
    const auto check = [](uint64_t bits) {
        const double g = gumbel(bits), bound = gumbel_bound(bits);
        EXPECT_GE(bound, g) << bits;
        if (g > 1) {
            EXPECT_LT(bound, g + 1) << bits;
        }
    };
    for (int shift = 0; shift <= 52; ++shift) {
        check(kAll - (kAll >> shift));
        check(kAll >> shift);
    }
    for (int id = 0; id < 10000; ++id) check(noise_bits({.seed = 6}, id));
}

}  // namespace
}  // namespace plait::choice
