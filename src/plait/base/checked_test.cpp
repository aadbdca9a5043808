#include "plait/base/checked.h"

#include <gmock/gmock.h>

#include <limits>

namespace plait {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr uint64_t kUMax = std::numeric_limits<uint64_t>::max();

TEST(Checked, MultipliesUpToTheLimit) {
    EXPECT_EQ(checked_mul<int64_t>(3, 5), 15);
    EXPECT_EQ(checked_mul<int64_t>(kMax, 1), kMax);
    EXPECT_EQ(checked_mul<int64_t>(kMax, 0), 0);
    EXPECT_EQ(checked_mul<uint64_t>(uint64_t{1} << 32, (uint64_t{1} << 32) - 1), kUMax - (kUMax >> 32));
    EXPECT_EQ(checked_mul<uint64_t>(uint64_t{1} << 32, uint64_t{1} << 32), std::nullopt);
    EXPECT_EQ(checked_mul<int64_t>(kMax / 2 + 1, 2), std::nullopt);
    EXPECT_EQ(checked_mul<int64_t>(std::numeric_limits<int64_t>::min(), -1), std::nullopt);
}

TEST(Checked, AddsUpToTheLimit) {
    EXPECT_EQ(checked_add<int64_t>(kMax - 1, 1), kMax);
    EXPECT_EQ(checked_add<int64_t>(kMax, 1), std::nullopt);
    EXPECT_EQ(checked_add<uint64_t>(kUMax, 1), std::nullopt);
}

TEST(Checked, RoundsUp) {
    EXPECT_EQ(checked_round_up<int64_t>(0, 32), 0);
    EXPECT_EQ(checked_round_up<int64_t>(1, 32), 32);
    EXPECT_EQ(checked_round_up<int64_t>(32, 32), 32);
    EXPECT_EQ(checked_round_up<int64_t>(7, 1), 7);
    EXPECT_EQ(checked_round_up<uint64_t>(kUMax, 2), std::nullopt);
    EXPECT_EQ(checked_round_up<int64_t>(kMax, 64), std::nullopt);
}

TEST(Checked, ThrowsASentenceWithItsContext) {
    EXPECT_EQ(mul_or_throw<int64_t>(6, 7, "tensor 'a'"), 42);
    EXPECT_EQ(add_or_throw<int64_t>(6, 7, "tensor 'a'"), 13);
    EXPECT_EQ(round_up_or_throw<int64_t>(6, 4, "tensor 'a'"), 8);
    try {
        mul_or_throw<uint64_t>(kUMax, 2, "tensor 'a'");
        FAIL() << "expected an Error";
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "tensor 'a': 18446744073709551615 times 2 does not fit in 64 bits");
    }
    EXPECT_THROW(add_or_throw<int64_t>(kMax, 1, "x"), Error);
    EXPECT_THROW(round_up_or_throw<int64_t>(kMax, 2, "x"), Error);
}

TEST(CheckedDeathTest, RefusesAStepOfZero) {
    EXPECT_DEATH(checked_round_up<int64_t>(1, 0), "broken invariant");
}

}  // namespace
}  // namespace plait
