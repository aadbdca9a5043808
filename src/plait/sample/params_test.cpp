#include "plait/sample/params.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "plait/base/error.h"

namespace plait::sample {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string refusal(const Params& params) {
    try {
        validate(params);
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

TEST(Params, DefaultsAndOffValuesAreValid) {
    EXPECT_EQ(refusal({}), "");
    EXPECT_EQ(refusal({.repeat_last_n = 0, .top_k = 0, .top_p = 1, .min_p = 0, .temperature = 0}), "");
    EXPECT_EQ(refusal({.repeat_last_n = -1, .top_k = -7, .top_p = 3, .min_p = -2, .temperature = -1}), "");
    EXPECT_EQ(refusal({.presence_penalty = -2, .frequency_penalty = -2}), "");
    EXPECT_EQ(refusal({.top_p = 0, .min_p = 1}), "");
}

TEST(Params, RefusalsNameTheFlagTheRuleAndTheValue) {
    EXPECT_EQ(refusal({.top_p = -0.5}), "--top-p must be 0 or more (1 turns it off), got -0.5");
    EXPECT_EQ(refusal({.repeat_penalty = 0}), "--repeat-penalty must be from 0.000001 to 1000000, got 0");
    EXPECT_EQ(refusal({.min_p = 1.5}), "--min-p must be at most 1 (0 turns it off), got 1.5");
    EXPECT_EQ(refusal({.repeat_last_n = -2}),
              "--repeat-last-n must be -1 (the whole text) or from 0 to 1048576, got -2");
    EXPECT_EQ(refusal({.temperature = kInfinity}), "--temp must be at most 1000000 (0 is greedy), got inf");
}

TEST(Params, NothingIsNan) {
    EXPECT_THAT(refusal({.temperature = kNan}), testing::HasSubstr("--temp"));
    EXPECT_THAT(refusal({.top_p = kNan}), testing::HasSubstr("--top-p"));
    EXPECT_THAT(refusal({.min_p = kNan}), testing::HasSubstr("--min-p"));
    EXPECT_THAT(refusal({.repeat_penalty = kNan}), testing::HasSubstr("--repeat-penalty"));
    EXPECT_THAT(refusal({.presence_penalty = kNan}), testing::HasSubstr("--presence-penalty"));
    EXPECT_THAT(refusal({.frequency_penalty = kNan}), testing::HasSubstr("--frequency-penalty"));
}

TEST(Params, Biases) {
    EXPECT_EQ(refusal({.biases = {{0, 1e6f}, {1, -3}, {2, -std::numeric_limits<float>::infinity()}}}), "");
    EXPECT_EQ(refusal({.biases = {{0, 1}, {1, 2e6f}}}),
              "a logit bias must be from -1000000 to 1000000, or -inf to mask its token, got 2000000");
    for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
        EXPECT_THAT(refusal({.biases = {{0, bad}}}), testing::HasSubstr("a logit bias"));
}

TEST(Params, ExtremesAreRefused) {
    EXPECT_THAT(refusal({.repeat_penalty = -1}), testing::HasSubstr("--repeat-penalty"));
    EXPECT_THAT(refusal({.repeat_penalty = kInfinity}), testing::HasSubstr("--repeat-penalty"));
    EXPECT_THAT(refusal({.presence_penalty = -kInfinity}), testing::HasSubstr("--presence-penalty"));
    EXPECT_THAT(refusal({.frequency_penalty = kInfinity}), testing::HasSubstr("--frequency-penalty"));
    EXPECT_THAT(refusal({.repeat_last_n = kMaxRepeatLastN + 1}), testing::HasSubstr("--repeat-last-n"));
}

}  // namespace
}  // namespace plait::sample
