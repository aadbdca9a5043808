#include "plait/engine/shares.h"

#include <gmock/gmock.h>

namespace plait::engine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pointwise;

using Numbers = std::vector<double>;

MATCHER_P(AreAbout, expected, "") {
    return ExplainMatchResult(Pointwise(testing::DoubleNear(1e-9), Numbers(expected)), arg, result_listener);
}

TEST(SharesBySpeed, TwiceTheSpeedHasTwiceTheShare) {
    EXPECT_THAT(shares_by_speed(Numbers{3e9, 6e9}), ElementsAre(50, 100));
    EXPECT_THAT(shares_by_speed(Numbers{1e9, 1e11, 2e10}), AreAbout(Numbers{1, 100, 20}));
    EXPECT_THAT(shares_by_speed(Numbers{1e9, 512345}), AreAbout(Numbers{100, 0.051})) << "in two digits";
}

TEST(SharesBySpeed, MembersWithinATenthAreEqual) {
    EXPECT_THAT(shares_by_speed(Numbers{95, 100, 91}), ElementsAre(100, 100, 100));
    EXPECT_THAT(shares_by_speed(Numbers{89, 100}), AreAbout(Numbers{89, 100}));
    EXPECT_THAT(shares_by_speed(Numbers{52, 100, 49, 97}), ElementsAre(52, 100, 52, 100));
    EXPECT_THAT(shares_by_speed(Numbers{7}), ElementsAre(100));
}

TEST(SharesBySpeed, NoiseChangesNothing) {
    const auto expected = shares_by_speed(Numbers{100, 100, 100, 100});
    for (double noise : {0.92, 0.95, 0.999, 1.0})
        EXPECT_EQ(shares_by_speed(Numbers{100, 100 * noise, 100, 100 * (1.92 - noise)}), expected) << noise;
}

TEST(WithinLimits, KeepsProportionsWhereThereIsRoom) {
    EXPECT_THAT(within_limits(Numbers{100, 50}, Numbers{1, 1}), AreAbout(Numbers{2.0 / 3, 1.0 / 3}));
    EXPECT_THAT(within_limits(Numbers{1, 1}, Numbers{0.5, 0.5}), AreAbout(Numbers{0.5, 0.5}))
        << "just enough";
}

TEST(WithinLimits, GivesTheRestToTheOthers) {
    EXPECT_THAT(within_limits(Numbers{2, 1, 1}, Numbers{0.2, 1, 1}), AreAbout(Numbers{0.2, 0.4, 0.4}));
    // What the first cannot take fills the second as well.
    EXPECT_THAT(within_limits(Numbers{2, 1, 1}, Numbers{0.2, 0.3, 1}), AreAbout(Numbers{0.2, 0.3, 0.5}));
    EXPECT_THAT(within_limits(Numbers{1, 1}, Numbers{0, 1}), AreAbout(Numbers{0, 1}));
    EXPECT_THAT(within_limits(Numbers{1, 1}, Numbers{-3, 1}), AreAbout(Numbers{0, 1})) << "no room at all";
}

TEST(WithinLimits, SaysWhenThereIsNotEnough) {
    EXPECT_THAT(within_limits(Numbers{1, 1}, Numbers{0.4, 0.5}), IsEmpty());
    EXPECT_THAT(within_limits(Numbers{1}, Numbers{0}), IsEmpty());
}

TEST(FormatShares, IsWhatTheFlagTakes) {
    EXPECT_EQ(format_shares(Numbers{100, 52, 0.7}), "100,52,0.7");
    EXPECT_EQ(format_shares(Numbers{100, 0.0012}), "100,0.0012");
    EXPECT_EQ(format_shares(Numbers{5}), "5");
}

TEST(PaceOf, NamesWhomTheOthersWaitFor) {
    const Pace pace = pace_of(Numbers{0.5, 0.25, 0.25}, Numbers{2, 2, 0.5});
    EXPECT_EQ(pace.slowest, 2);
    EXPECT_EQ(pace.fastest, 1);
    EXPECT_DOUBLE_EQ(pace.times, 4);
}

TEST(PaceOf, IsPatient) {
    EXPECT_EQ(pace_of(Numbers{0.5, 0.5}, Numbers{5, 4}).slowest, -1) << "a quarter longer is no matter";
    EXPECT_EQ(pace_of(Numbers{0.5, 0.5}, Numbers{5, 3.9}).slowest, 1);
    EXPECT_EQ(pace_of(Numbers{2.0 / 3, 1.0 / 3}, Numbers{100, 50}).slowest, -1);
    EXPECT_EQ(pace_of(Numbers{1, 0}, Numbers{1, 100}).slowest, -1) << "nothing takes no time";
    EXPECT_EQ(pace_of(Numbers{1}, Numbers{3}).slowest, -1);
}

}  // namespace
}  // namespace plait::engine
