#include "plait/ir/ops/rope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "plait/ir/test_support.h"

namespace plait::ir::test {
namespace {

const std::vector<int32_t> kPositions{0, 1, 17, 4095, 131071};

TensorDesc rows_of(Shape shape, DType type = DType::F32) { return {type, shape, Rows::tokens}; }

std::vector<float> angles(const RopeAngles& op, const std::vector<float>& divisors = {}) {
    std::vector<TestTensor> inputs{make_ids(rows_of({5}, DType::I32), kPositions)};
    if (!divisors.empty()) inputs.push_back(make_tensor({DType::F32, {op.dims / 2}}, divisors));
    return values_of(run_reference(op, inputs, TestStep(simple_spec(5, 5)))[0]);
}

// Compares with `turn(pair)` radians per position at magnitude `length`.
template <class Turn>
void expect_turns(const RopeAngles& op, const std::vector<float>& found, double length, Turn turn) {
    const size_t pairs = static_cast<size_t>(op.dims / 2);
    for (size_t t = 0; t < kPositions.size(); ++t) {
        for (size_t pair = 0; pair < pairs; ++pair) {
            const std::complex<double> expected =
                std::polar(length, kPositions[t] * turn(static_cast<double>(pair)));
            EXPECT_NEAR(found[(t * pairs + pair) * 2], expected.real(), 1e-6) << t << " " << pair;
            EXPECT_NEAR(found[(t * pairs + pair) * 2 + 1], expected.imag(), 1e-6) << t << " " << pair;
        }
    }
}

TEST(RopeAngles, TurnsByPositionAndPair) {
    const RopeAngles op{.dims = 10, .base = 500000.0f};
    expect_turns(op, angles(op), 1.0, [](double pair) { return std::exp(-pair / 5 * std::log(500000.0)); });
}

TEST(RopeAngles, DividesFrequencies) {
    const RopeAngles op{.dims = 4};
    expect_turns(op, angles(op, {2.0f, 8.0f}), 1.0, [](double pair) { return pair == 0 ? 0.5 : 0.01 / 8; });
}

TEST(RopeAngles, InterpolatesLinearly) {
    const RopeAngles op{.dims = 4, .scaling = RopeScaling::linear, .factor = 4.0f, .attention_factor = 0.5f};
    expect_turns(op, angles(op), 0.5, [](double pair) { return pair == 0 ? 0.25 : 0.0025; });
}

// Wavelengths are worked out from the paper's terms: r rotations in the original context.
double yarn_turn(double pair, double dims, double base, double factor, double context,
                 bool whole_pairs = true) {
    const double own = std::pow(base, -2 * pair / dims);
    const auto pair_with = [&](double rotations) {
        return std::log(context / (2 * std::numbers::pi * rotations)) / std::log(base) * dims / 2;
    };
    const double low = whole_pairs ? std::floor(pair_with(32)) : pair_with(32);
    const double high = whole_pairs ? std::ceil(pair_with(1)) : pair_with(1);
    if (pair <= low) return own;
    if (pair >= high) return own / factor;
    const double interpolated = (pair - low) / (high - low);
    return own * (1 - interpolated) + own / factor * interpolated;
}

TEST(RopeAngles, InterpolatesByWavelengthForYarn) {
    const RopeAngles op{.dims = 128,
                        .base = 10000.0f,
                        .scaling = RopeScaling::yarn,
                        .factor = 8.0f,
                        .original_context = 4096};
    expect_turns(op, angles(op), 1.0 + 0.1 * std::log(8.0),
                 [](double pair) { return yarn_turn(pair, 128, 10000, 8, 4096); });
    // The ramp is really there: some pair is neither left alone nor fully interpolated.
    const double own = std::pow(10000.0, -2 * 30 / 128.0);
    EXPECT_LT(yarn_turn(30, 128, 10000, 8, 4096), own);
    EXPECT_GT(yarn_turn(30, 128, 10000, 8, 4096), own / 8);
}

TEST(RopeAngles, MayBeginYarnsRampBetweenPairs) {
    const RopeAngles op{.dims = 64,
                        .base = 150000.0f,
                        .scaling = RopeScaling::yarn,
                        .factor = 32.0f,
                        .original_context = 4096,
                        .whole_pairs = false};
    expect_turns(op, angles(op), 1.0 + 0.1 * std::log(32.0),
                 [](double pair) { return yarn_turn(pair, 64, 150000, 32, 4096, false); });
    const double rounded = yarn_turn(12, 64, 150000, 32, 4096);
    EXPECT_GT(std::abs(yarn_turn(12, 64, 150000, 32, 4096, false) / rounded - 1), 0.01);
}

TEST(RopeAngles, IsLinearWithoutYarnsExtrapolation) {
    const RopeAngles op{.dims = 4,
                        .scaling = RopeScaling::yarn,
                        .factor = 4.0f,
                        .attention_factor = 2.0f,
                        .original_context = 64,
                        .extrapolation = 0.0f};
    expect_turns(op, angles(op), 2.0, [](double pair) { return pair == 0 ? 0.25 : 0.0025; });
}

TEST(RopeAngles, FollowsActualTokens) {
    const RopeAngles op{.dims = 6};
    const TestTensor positions = make_ids(rows_of({5}, DType::I32), kPositions);
    for (int32_t tokens : {0, 1, 3}) {
        const TestStep step(simple_spec(5, tokens));
        EXPECT_TRUE(rest_is_poisoned(run_reference(op, std::vector{positions}, step)[0], step));
    }
}

std::pair<size_t, size_t> place(RopePairs pairs, size_t pair, size_t count) {
    if (pairs == RopePairs::adjacent) return {2 * pair, 2 * pair + 1};
    return {pair, count + pair};
}

TEST(Rope, MultipliesPairsAndPassesTheRest) {
    for (RopePairs order : {RopePairs::adjacent, RopePairs::halves}) {
        for (size_t pairs : {1, 3, 5}) {
            const TestTensor x = make_tensor(rows_of({3, 2, 11}), 1);
            const TestTensor turns = make_tensor(rows_of({3, static_cast<int64_t>(pairs), 2}), 2);
            const TestStep step(simple_spec(3, 2));
            const auto outputs = run_reference(Rope{order}, std::vector{x, turns}, step);
            std::vector<float> expected = values_of(x);
            for (size_t head = 0; head < 4; ++head) {
                for (size_t pair = 0; pair < pairs; ++pair) {
                    const size_t angle = (head / 2 * pairs + pair) * 2;
                    const auto [a, b] = place(order, pair, pairs);
                    const std::complex<double> turned =
                        std::complex<double>(values_of(x)[head * 11 + a], values_of(x)[head * 11 + b]) *
                        std::complex<double>(values_of(turns)[angle], values_of(turns)[angle + 1]);
                    expected[head * 11 + a] = static_cast<float>(turned.real());
                    expected[head * 11 + b] = static_cast<float>(turned.imag());
                }
            }
            const std::vector<float> y = values_of(outputs[0]);
            for (size_t i = 0; i < 4 * 11; ++i) EXPECT_NEAR(y[i], expected[i], 1e-6) << i;
            EXPECT_TRUE(rest_is_poisoned(outputs[0], step));
        }
    }
}

TEST(Rope, DoesNothingInAnEmptyStep) {
    const TestStep step(simple_spec(3, 0));
    const auto outputs = run_reference(
        Rope{}, std::vector{make_poisoned(rows_of({3, 2, 8})), make_poisoned(rows_of({3, 4, 2}))}, step);
    EXPECT_TRUE(rest_is_poisoned(outputs[0], step));
}

TEST(RopeAngles, SaysWhatDoesNotFit) {
    const TensorDesc positions = rows_of({5}, DType::I32);
    EXPECT_EQ(refusal(RopeAngles{.dims = 7}, {positions}),
              "rope_angles: expected a positive, even number of dimensions, found 7");
    EXPECT_EQ(refusal(RopeAngles{}, {positions}),
              "rope_angles: expected a positive, even number of dimensions, found 0");
    EXPECT_EQ(refusal(RopeAngles{.dims = 4, .base = 1.0f}, {positions}),
              "rope_angles: expected a base above 1, found 1");
    EXPECT_EQ(refusal(RopeAngles{.dims = 4, .base = NAN}, {positions}),
              "rope_angles: expected a base above 1, found nan");
    EXPECT_EQ(refusal(RopeAngles{.dims = 4, .scaling = RopeScaling::linear, .factor = 0}, {positions}),
              "rope_angles: expected a positive scaling factor, found 0");
    EXPECT_EQ(refusal(RopeAngles{.dims = 4, .scaling = RopeScaling::yarn}, {positions}),
              "rope_angles: expected a positive original context for yarn, found 0");
    EXPECT_EQ(
        refusal(RopeAngles{.dims = 4, .scaling = RopeScaling::yarn, .original_context = 1, .beta_fast = 0.5f},
                {positions}),
        "rope_angles: expected a beta_fast for yarn that is not below beta_slow, found 0.5");
    EXPECT_EQ(refusal(RopeAngles{.dims = 4}, {rows_of({5})}),
              "rope_angles: expected positions as I32 [tokens], found F32[5]");
    EXPECT_EQ(refusal(RopeAngles{.dims = 4}, {positions, {DType::F32, {3}}}),
              "rope_angles: expected frequency divisors as F32 [2], found F32[3]");
    EXPECT_EQ(refusal(RopeAngles{.dims = 4}, {}), "rope_angles: expected 1 to 2 operands, found 0");
}

TEST(Rope, SaysWhatDoesNotFit) {
    const TensorDesc x = rows_of({3, 2, 8});
    EXPECT_EQ(refusal(Rope{}, {rows_of({3, 8}), x}),
              "rope: expected x as F32 [tokens, heads, width], found F32[3, 8]");
    EXPECT_EQ(refusal(Rope{}, {x, rows_of({3, 4, 3})}),
              "rope: expected angles as F32 [tokens, dims / 2, 2], found F32[3, 4, 3]");
    EXPECT_EQ(refusal(Rope{}, {x, rows_of({2, 4, 2})}),
              "rope: expected angles of 3 tokens as x has, found F32[2, 4, 2]");
    EXPECT_EQ(refusal(Rope{}, {x, rows_of({3, 5, 2})}),
              "rope: expected angles for at most the 8 features of a head, found F32[3, 5, 2]");
}

}  // namespace
}  // namespace plait::ir::test
