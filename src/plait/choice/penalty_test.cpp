#include "plait/choice/penalty.h"

#include <gtest/gtest.h>

#include <limits>

namespace plait::choice {
namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();

float seen(float logit, int32_t count, const Penalty& penalty) {
    return changed(logit, {.count = count}, penalty);
}

TEST(Changed, ByPenalties) {
    const Penalty repeat{.repeat = 2};
    EXPECT_EQ(seen(3, 0, repeat), 3);
    EXPECT_EQ(seen(3, 1, repeat), 1.5);
    EXPECT_EQ(seen(3, 7, repeat), 1.5);
    EXPECT_EQ(seen(-3, 1, repeat), -6);
    EXPECT_EQ(seen(0, 1, repeat), 0);
    const Penalty both{.presence = 0.5, .frequency = 0.25};
    EXPECT_EQ(seen(3, 0, both), 3);
    EXPECT_EQ(seen(3, 1, both), 2.25);
    EXPECT_EQ(seen(3, 4, both), 1.5);
    EXPECT_EQ(seen(-3, 4, both), -4.5);
    EXPECT_EQ(seen(3, 2, {.repeat = 1.5, .presence = -0.5, .frequency = 0.25}), 2);
}

TEST(Changed, ABiasComesFirst) {
    EXPECT_EQ(changed(3, {.bias = 1.5f}, {.repeat = 2}), 4.5);
    EXPECT_EQ(changed(3, {.count = 1, .bias = 1}, {.repeat = 2}), 2);
    EXPECT_EQ(changed(3, {.count = 1, .bias = -5}, {.repeat = 2}), -4);
}

TEST(Changed, MaskedStaysMasked) {
    const Penalty penalty{.repeat = 2, .presence = -5};
    EXPECT_EQ(seen(kMasked, 3, penalty), kMasked);
    EXPECT_EQ(changed(7, {.bias = kMasked}, penalty), kMasked);
    EXPECT_EQ(changed(7, {.count = 2, .bias = kMasked}, penalty), kMasked);
}

}  // namespace
}  // namespace plait::choice
