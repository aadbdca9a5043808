#include "plait/base/lap_clock.h"

#include <gtest/gtest.h>

#include <thread>

namespace plait {
namespace {

void rest() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }

TEST(LapClock, LapsLieEndToEnd) {
    const auto begin = std::chrono::steady_clock::now();
    LapClock clock;
    clock.switch_to(true);
    double first = 0, second = 0;
    for (int i = 0; i < 3; ++i) {
        clock.restart();
        rest();
        clock.add_to(first);
        clock.add_to(second);
        rest();  // nobody's
    }
    const std::chrono::duration<double> all = std::chrono::steady_clock::now() - begin;
    EXPECT_GE(first, 0.006);
    EXPECT_GE(second, 0);
    EXPECT_LE(first + second, all.count() - 0.006);
}

TEST(LapClock, SwitchedOffItAddsNothing) {
    LapClock clock;
    double seconds = 0;
    clock.restart();
    rest();
    clock.add_to(seconds);
    EXPECT_EQ(seconds, 0);
    clock.switch_to(true);
    clock.restart();
    clock.switch_to(false);
    rest();
    clock.add_to(seconds);
    EXPECT_EQ(seconds, 0);
}

}  // namespace
}  // namespace plait
