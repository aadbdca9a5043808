#include "plait/ir/ops/elementwise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "plait/ir/test_support.h"

namespace plait::ir::test {
namespace {

TensorDesc rows_of(Shape shape, DType type = DType::F32) { return {type, shape, Rows::tokens}; }

double exact(Activation activation, double x) {
    if (activation == Activation::silu) return x / (1 + std::exp(-x));
    return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

constexpr Activation kActivations[] = {Activation::silu, Activation::gelu_tanh};

TEST(Activate, MatchesItsFormula) {
    for (Activation activation : kActivations) {
        for (float x = -20.0f; x <= 20.0f; x += 0.37f)
            EXPECT_NEAR(activate(activation, x), exact(activation, x), 1e-5 + std::abs(x) * 1e-6) << x;
    }
}

TEST(Activate, StaysFiniteFarOut) {
    for (Activation activation : kActivations) {
        EXPECT_EQ(activate(activation, 0.0f), 0.0f);
        EXPECT_EQ(activate(activation, 200.0f), 200.0f);
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

TEST(Elementwise, DoesNothingInAnEmptyStep) {
    const TestTensor x = make_poisoned(rows_of({3, 5}));
    const TestStep step(simple_spec(3, 0));
    EXPECT_TRUE(rest_is_poisoned(run_reference(Add{}, std::vector{x, x}, step)[0], step));
    EXPECT_TRUE(rest_is_poisoned(run_reference(Scale{}, std::vector{x}, step)[0], step));
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
    EXPECT_EQ(refusal(Scale{}, {rows_of({5})}), "scale: expected x as F32 [rows, ..., n], found F32[5]");
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
