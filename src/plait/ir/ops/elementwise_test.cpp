#include "plait/ir/ops/elementwise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "plait/ir/test_support.h"

namespace plait::ir::test {
namespace {

TensorDesc rows_of(Shape shape, DType type = DType::F32) { return {type, shape, Rows::tokens}; }

double exact(Activation activation, double x) {
    switch (activation) {
        case Activation::silu:
            return x / (1 + std::exp(-x));
        case Activation::gelu_tanh:
            return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
        case Activation::gelu_erf:
            return x / 2 * (1 + std::erf(x / std::sqrt(2)));
        case Activation::sigmoid:
            return 1 / (1 + std::exp(-x));
    }
    return 0;
}

TEST(Activate, MatchesItsFormula) {
    for (Activation activation : kActivations) {
        for (float x = -20.0f; x <= 20.0f; x += 0.37f)
            EXPECT_NEAR(activate(activation, x), exact(activation, x), 1e-5 + std::abs(x) * 1e-6) << x;
    }
}

TEST(Activate, StaysFiniteFarOut) {
    for (Activation activation : kActivations) {
        const bool gate = activation == Activation::sigmoid;
        EXPECT_EQ(activate(activation, 0.0f), gate ? 0.5f : 0.0f);
        EXPECT_EQ(activate(activation, 200.0f), gate ? 1.0f : 200.0f);
        EXPECT_EQ(activate(activation, -200.0f), 0.0f);
    }
}

TEST(Activate, WorksOnActualRowsOnly) {
    for (Activation activation : kActivations) {
        const TestTensor x = make_tensor(rows_of({4, 3, 5}), 1);
        const TestStep step(simple_spec(4, 3));
        const auto outputs = run_reference(Activate{activation}, std::vector{x}, step);
        for (size_t i = 0; i < 45; ++i)
            EXPECT_EQ(values_of(outputs[0])[i], activate(activation, values_of(x)[i]));
        EXPECT_TRUE(rest_is_poisoned(outputs[0], step));
    }
}

TEST(GatedActivate, MultipliesByUp) {
    for (Activation activation : kActivations) {
        const TestTensor gate = make_tensor(rows_of({3, 7}), 1);
        const TestTensor up = make_tensor(rows_of({3, 7}), 2);
        const TestStep step(simple_spec(3, 2));
        const auto outputs = run_reference(GatedActivate{activation}, std::vector{gate, up}, step);
        for (size_t i = 0; i < 14; ++i) {
            EXPECT_NEAR(values_of(outputs[0])[i], exact(activation, values_of(gate)[i]) * values_of(up)[i],
                        1e-6);
        }
        EXPECT_TRUE(rest_is_poisoned(outputs[0], step));
    }
}

TEST(Add, AddsRowsOrABias) {
    const TestTensor a = make_tensor(rows_of({3, 5}), 1);
    const TestTensor b = make_tensor(rows_of({3, 5}), 2);
    const TestTensor bias = make_tensor({DType::F32, {5}}, 3);
    const TestStep step(simple_spec(3, 2));
    const auto sum = run_reference(Add{}, std::vector{a, b}, step);
    const auto biased = run_reference(Add{}, std::vector{a, bias}, step);
    for (size_t i = 0; i < 10; ++i) {
        EXPECT_EQ(values_of(sum[0])[i], values_of(a)[i] + values_of(b)[i]);
        EXPECT_EQ(values_of(biased[0])[i], values_of(a)[i] + values_of(bias)[i % 5]);
    }
    EXPECT_TRUE(rest_is_poisoned(sum[0], step));
    EXPECT_TRUE(rest_is_poisoned(biased[0], step));
}

TEST(Scale, MultipliesActualRows) {
    const TestTensor x = make_tensor(rows_of({4, 3, 5}), 1);
    const TestStep step(simple_spec(4, 3));
    for (const float factor : {0.0f, 1.0f, -0.22f, 12.0f}) {
        const auto outputs = run_reference(Scale{factor}, std::vector{x}, step);
        for (size_t i = 0; i < 45; ++i) EXPECT_EQ(values_of(outputs[0])[i], values_of(x)[i] * factor);
        EXPECT_TRUE(rest_is_poisoned(outputs[0], step));
    }
}

TEST(SoftCap, BoundsActualRows) {
    const TestTensor x = make_tensor(rows_of({4, 3, 5}), 1);
    const TestStep step(simple_spec(4, 3));
    for (const float cap : {0.1f, 1.0f, 30.0f}) {
        const auto outputs = run_reference(SoftCap{cap}, std::vector{x}, step);
        for (size_t i = 0; i < 45; ++i) {
            const double expected = cap * std::tanh(static_cast<double>(values_of(x)[i]) / cap);
            EXPECT_NEAR(values_of(outputs[0])[i], expected, 1e-6);
        }
        EXPECT_TRUE(rest_is_poisoned(outputs[0], step));
    }
}

TEST(ClampedSwiglu, ClampsGateAboveAndUpOnBothSides) {
    const std::vector<float> gates{0.0f, 1.0f, -1.0f, 7.0f, 9.0f, 1e30f, -9.0f, 2.0f, 2.0f, 2.0f};
    const std::vector<float> ups{1.0f, 2.0f, 2.0f, 0.0f, 0.0f, 0.5f, 1.0f, 8.0f, -8.0f, -1.0f};
    const TestTensor gate = make_tensor(rows_of({2, 5}), gates);
    const TestTensor up = make_tensor(rows_of({2, 5}), ups);
    const TestStep step(simple_spec(2, 2));
    const auto outputs = run_reference(ClampedSwiglu{}, std::vector{gate, up}, step);
    for (size_t i = 0; i < gates.size(); ++i) {
        const double g = std::min(gates[i], 7.0f);
        const double u = ups[i] > 7 ? 7 : ups[i] < -7 ? -7 : ups[i];
        EXPECT_NEAR(values_of(outputs[0])[i], g / (1 + std::exp(-1.702 * g)) * (u + 1), 1e-5) << i;
    }
}

TEST(Combine, TakesElementsInPairs) {
    const TestTensor a = make_tensor(rows_of({2, 2, 3}), 1), b = make_tensor(rows_of({2, 2, 3}), 2);
    const TestStep step(simple_spec(2, 1));
    for (Reduction reduction : kReductions) {
        const TestTensor y = run_reference(Combine{reduction}, std::vector{a, b}, step)[0];
        for (size_t i = 0; i < 6; ++i) {
            const float u = values_of(a)[i], v = values_of(b)[i];
            EXPECT_EQ(values_of(y)[i], reduction == Reduction::sum   ? u + v
                                       : reduction == Reduction::max ? std::max(u, v)
                                                                     : std::min(u, v));
        }
        EXPECT_TRUE(rest_is_poisoned(y, step));
        EXPECT_EQ(run_reference(Combine{reduction}, std::vector{b, a}, step)[0].bytes, y.bytes);
    }
}

TEST(Combine, OrdersZerosAndKeepsNan) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const auto& [a, b] : {std::pair{0.0f, -0.0f}, {-0.0f, 0.0f}}) {
        EXPECT_TRUE(std::signbit(combine(Reduction::min, a, b)));
        EXPECT_FALSE(std::signbit(combine(Reduction::max, a, b)));
        EXPECT_FALSE(std::signbit(combine(Reduction::sum, a, b)));
    }
    for (Reduction reduction : kReductions) {
        EXPECT_TRUE(std::isnan(combine(reduction, nan, 1.0f))) << reduction_name(reduction);
        EXPECT_TRUE(std::isnan(combine(reduction, 1.0f, nan))) << reduction_name(reduction);
    }
}

TEST(Clamp, StopsAtBothEnds) {
    const TestTensor x =
        make_tensor(rows_of({2, 5}), std::vector<float>{-3, -1.5f, 0, 1.5f, 1.25f, 7, -2, 1, 1e9f, -1e9f});
    const TestStep step(simple_spec(2, 2));
    const auto outputs = run_reference(Clamp{1.5f}, std::vector{x}, step);
    EXPECT_THAT(values_of(outputs[0]),
                testing::ElementsAre(-1.5f, -1.5f, 0, 1.5f, 1.25f, 1.5f, -1.5f, 1, 1.5f, -1.5f));
}

TEST(Elementwise, DoesNothingInAnEmptyStep) {
    const TestTensor x = make_poisoned(rows_of({3, 5}));
    const TestStep step(simple_spec(3, 0));
    EXPECT_TRUE(rest_is_poisoned(run_reference(Add{}, std::vector{x, x}, step)[0], step));
    EXPECT_TRUE(rest_is_poisoned(run_reference(Combine{}, std::vector{x, x}, step)[0], step));
    EXPECT_TRUE(rest_is_poisoned(run_reference(Scale{}, std::vector{x}, step)[0], step));
    EXPECT_TRUE(rest_is_poisoned(run_reference(Clamp{1.0f}, std::vector{x}, step)[0], step));
    EXPECT_TRUE(rest_is_poisoned(run_reference(Activate{}, std::vector{x}, step)[0], step));
    EXPECT_TRUE(rest_is_poisoned(run_reference(GatedActivate{}, std::vector{x, x}, step)[0], step));
    EXPECT_TRUE(rest_is_poisoned(run_reference(SoftCap{}, std::vector{x}, step)[0], step));
    EXPECT_TRUE(rest_is_poisoned(run_reference(ClampedSwiglu{}, std::vector{x, x}, step)[0], step));
}

TEST(Elementwise, SaysWhatDoesNotFit) {
    const TensorDesc x = rows_of({3, 5});
    EXPECT_EQ(refusal(Add{}, {x}), "add: expected 2 operands, found 1");
    EXPECT_EQ(refusal(Add{}, {rows_of({5}), x}), "add: expected a as F32 [rows, n], found F32[5]");
    EXPECT_EQ(refusal(Add{}, {x, rows_of({3, 4})}),
              "add: expected b like a, F32[3, 5], or as F32 [5], found F32[3, 4]");
    EXPECT_EQ(refusal(Add{}, {x, {DType::F16, {5}}}),
              "add: expected b like a, F32[3, 5], or as F32 [5], found F16[5]");
    EXPECT_EQ(refusal(Combine{}, {rows_of({5}), rows_of({5})}),
              "combine: expected a as F32 [rows, ..., n], found F32[5]");
    EXPECT_EQ(refusal(Combine{}, {x, {DType::F32, {5}}}),
              "combine: expected b like a, F32[3, 5], found F32[5]");
    EXPECT_EQ(refusal(Scale{}, {rows_of({5})}), "scale: expected x as F32 [rows, ..., n], found F32[5]");
    EXPECT_EQ(refusal(Clamp{0.0f}, {x}), "clamp: expected a limit above 0, found 0");
    EXPECT_EQ(refusal(Clamp{1.0f}, {rows_of({5})}), "clamp: expected x as F32 [rows, ..., n], found F32[5]");
    EXPECT_EQ(refusal(Scale{}, {x, x}), "scale: expected 1 operands, found 2");
    EXPECT_EQ(refusal(Activate{}, {rows_of({3, 5}, DType::F16)}),
              "activate: expected x as F32 [rows, ..., n], found F16[3, 5]");
    EXPECT_EQ(refusal(SoftCap{}, {rows_of({5})}), "soft_cap: expected x as F32 [rows, ..., n], found F32[5]");
    EXPECT_EQ(refusal(ClampedSwiglu{}, {x, rows_of({3, 4})}),
              "clamped_swiglu: expected up like gate, F32[3, 5], found F32[3, 4]");
    EXPECT_EQ(refusal(GatedActivate{}, {rows_of({5}), x}),
              "gated_activate: expected gate as F32 [rows, ..., n], found F32[5]");
    EXPECT_EQ(refusal(GatedActivate{}, {x, rows_of({3, 6})}),
              "gated_activate: expected up like gate, F32[3, 5], found F32[3, 6]");
}

}  // namespace
}  // namespace plait::ir::test
