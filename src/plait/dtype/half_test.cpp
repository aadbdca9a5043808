#include "plait/dtype/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace plait::dtype {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// The value of a binary16 pattern from its definition.
double f16_by_definition(uint16_t half) {
    const int exponent = (half >> 10) & 31;
    const int mantissa = half & 1023;
    const double sign = half & 0x8000 ? -1.0 : 1.0;
    if (exponent == 31) return mantissa ? std::nan("") : sign * kInf;
    return sign * (exponent ? std::ldexp(1024 + mantissa, exponent - 25) : std::ldexp(mantissa, -24));
}

TEST(F16, EveryPatternDecodesToItsDefinition) {
    for (uint32_t i = 0; i < 65536; ++i) {
        const auto half = static_cast<uint16_t>(i);
        const double expected = f16_by_definition(half);
        const float value = f16_to_f32(half);
        if (std::isnan(expected)) {
            EXPECT_TRUE(std::isnan(value)) << i;
        } else {
            EXPECT_EQ(value, expected) << i;
            EXPECT_EQ(std::signbit(value), (half & 0x8000) != 0) << i;
        }
    }
}

TEST(F16, EveryPatternSurvivesARoundTrip) {
    for (uint32_t i = 0; i < 65536; ++i) {
        const auto half = static_cast<uint16_t>(i);
        const bool nan = (half & 0x7C00) == 0x7C00 && (half & 0x3FF) != 0;
        EXPECT_EQ(f32_to_f16(f16_to_f32(half)), nan ? half | 0x200 : half) << i;
    }
}

// Between two neighbouring halves the midpoint goes to the even one, anything nearer to the nearer one.
TEST(F16, RoundsToNearestEvenBetweenAllNeighbours) {
    for (uint32_t i = 0; i < 0x7BFF; ++i) {
        const auto low = static_cast<uint16_t>(i);
        const auto high = static_cast<uint16_t>(i + 1);
        const float middle = (f16_to_f32(low) + f16_to_f32(high)) / 2;  // exact in F32
        const uint16_t even = low & 1 ? high : low;
        ASSERT_EQ(f32_to_f16(middle), even) << i;
        ASSERT_EQ(f32_to_f16(-middle), even | 0x8000) << i;
        ASSERT_EQ(f32_to_f16(std::nextafter(middle, 0.0f)), low) << i;
        ASSERT_EQ(f32_to_f16(std::nextafter(middle, kInf)), high) << i;
    }
}

TEST(F16, SpecialValues) {
    EXPECT_EQ(f32_to_f16(0.0f), 0x0000);
    EXPECT_EQ(f32_to_f16(-0.0f), 0x8000);
    EXPECT_EQ(f32_to_f16(1.0f), 0x3C00);
    EXPECT_EQ(f32_to_f16(kMaxF16), 0x7BFF);
    EXPECT_EQ(f32_to_f16(65519.996f), 0x7BFF);
    EXPECT_EQ(f32_to_f16(65520.0f), 0x7C00);
    EXPECT_EQ(f32_to_f16(kInf), 0x7C00);
    EXPECT_EQ(f32_to_f16(-kInf), 0xFC00);
    EXPECT_EQ(f32_to_f16(0x1.0p-25f), 0x0000);
    EXPECT_EQ(f32_to_f16(0x1.000002p-25f), 0x0001);
    EXPECT_EQ(f32_to_f16(std::numeric_limits<float>::denorm_min()), 0x0000);
    EXPECT_EQ(f32_to_f16(kMinNormalF16), 0x0400);
    EXPECT_EQ(f32_to_f16(std::numeric_limits<float>::quiet_NaN()) & 0x7E00, 0x7E00);
    // A payload that lives only in the low bits must not turn the NaN into an infinity.
    EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(std::bit_cast<float>(0x7F800001u)))));
    EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(std::bit_cast<float>(0xFFFFFFFFu)))));
}

TEST(BF16, EveryPatternSurvivesARoundTrip) {
    for (uint32_t i = 0; i < 65536; ++i) {
        const auto upper = static_cast<uint16_t>(i);
        const bool nan = (upper & 0x7F80) == 0x7F80 && (upper & 0x7F) != 0;
        EXPECT_EQ(f32_to_bf16(bf16_to_f32(upper)), nan ? upper | 0x40 : upper) << i;
    }
}

TEST(BF16, RoundsToNearestEven) {
    std::mt19937 random(7);
    for (int i = 0; i < 100000; ++i) {
        const uint32_t bits = random() & 0xFF7FFFFFu;  // exponent below 255 after rounding too
        const auto low = static_cast<uint16_t>(bits >> 16);
        const uint32_t rest = bits & 0xFFFFu;
        const bool up = rest > 0x8000u || (rest == 0x8000u && (low & 1));
        ASSERT_EQ(f32_to_bf16(std::bit_cast<float>(bits)), static_cast<uint16_t>(low + up)) << bits;
    }
    EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3F808000u)), 0x3F80);
    EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3F818000u)), 0x3F82);
}

TEST(BF16, SpecialValues) {
    EXPECT_EQ(f32_to_bf16(-0.0f), 0x8000);
    EXPECT_EQ(f32_to_bf16(kInf), 0x7F80);
    EXPECT_EQ(f32_to_bf16(kMaxBF16), 0x7F7F);
    EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::max()), 0x7F80);
    EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::bit_cast<float>(0x7F800001u)))));
}

}  // namespace
}  // namespace plait::dtype
