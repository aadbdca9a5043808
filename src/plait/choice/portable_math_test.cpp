#include "plait/choice/portable_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace plait::choice {
namespace {

constexpr double kRelative = 8e-16;  // 3 to 4 units in the last place

void expect_close(double actual, double expected, double x) {
    EXPECT_LE(std::abs(actual - expected), kRelative * std::abs(expected)) << "x = " << x;
}

TEST(PortableLog, AgreesWithTheLibrary) {
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> unit(0, 1);
    for (int i = 0; i < 20000; ++i) {
        const double x = std::ldexp(0.5 + unit(random) / 2, static_cast<int>(random() % 2000) - 1000);
        expect_close(portable_log(x), std::log(x), x);
        const double u = unit(random) + 0x1p-60;
        expect_close(portable_log(u), std::log(u), u);
    }
}

TEST(PortableLog, KeepsPrecisionAroundOne) {
    EXPECT_EQ(portable_log(1), 0);
    for (double step = 0x1p-53; step < 0.4; step *= 2) {
        expect_close(portable_log(1 - step), std::log1p(-step), 1 - step);
        if (step > 0x1p-53) expect_close(portable_log(1 + step), std::log1p(step), 1 + step);
    }
    expect_close(portable_log(std::sqrt(0.5)), std::log(std::sqrt(0.5)), std::sqrt(0.5));
    expect_close(portable_log(std::sqrt(2.0)), std::log(std::sqrt(2.0)), std::sqrt(2.0));
}

TEST(PortableLog, Extremes) {
    const double smallest = std::numeric_limits<double>::min();
    const double largest = std::numeric_limits<double>::max();
    expect_close(portable_log(smallest), std::log(smallest), smallest);
    expect_close(portable_log(largest), std::log(largest), largest);
}

TEST(PortableExp, AgreesWithTheLibrary) {
    std::mt19937_64 random(2);
    std::uniform_real_distribution<double> wide(-700, 0), narrow(-1, 0);
    for (int i = 0; i < 20000; ++i) {
        const double x = wide(random), y = narrow(random);
        expect_close(portable_exp(x), std::exp(x), x);
        expect_close(portable_exp(y), std::exp(y), y);
    }
}

TEST(PortableExp, Extremes) {
    EXPECT_EQ(portable_exp(0), 1);
    EXPECT_EQ(portable_exp(-0x1p-60), 1);
    EXPECT_EQ(portable_exp(-701), 0);
    EXPECT_EQ(portable_exp(-std::numeric_limits<double>::infinity()), 0);
    EXPECT_GT(portable_exp(-700), 0);
}

// Bits written down once: a machine or compiler that gives others breaks the guarantee in the header.
TEST(PortableMath, BitsAreFixed) {
    EXPECT_EQ(std::bit_cast<uint64_t>(portable_log(0.3)), 0xbff34378fcbda721)
        << std::hexfloat << portable_log(0.3);
    EXPECT_EQ(std::bit_cast<uint64_t>(portable_log(1e-9)), 0xc034b927f32bffb8) << portable_log(1e-9);
    EXPECT_EQ(std::bit_cast<uint64_t>(portable_exp(-0.3)), 0x3fe7b4c869c37c05) << portable_exp(-0.3);
    EXPECT_EQ(std::bit_cast<uint64_t>(portable_exp(-33.3)), 0x3cef165bb9b59d94) << portable_exp(-33.3);
}

}  // namespace
}  // namespace plait::choice
