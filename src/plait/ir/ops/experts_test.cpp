#include "plait/ir/ops/experts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "plait/ir/test_support.h"

namespace plait::ir::test {
namespace {

using testing::ElementsAre;

TensorDesc rows_of(Shape shape, DType type = DType::F32) { return {type, shape, Rows::tokens}; }

std::vector<TestTensor> choose(const TopKExperts& op, const std::vector<float>& logits) {
    const TestTensor x = make_tensor(rows_of({1, static_cast<int64_t>(logits.size())}), logits);
    return run_reference(op, std::vector{x}, TestStep(simple_spec(1, 1)));
}

TEST(TopKExperts, MatchesSortedSoftmax) {
    const TestTensor x = make_tensor(rows_of({4, 61}), 1);
    const TestStep step(simple_spec(4, 3));
    const auto outputs = run_reference(TopKExperts{7, false, 1.0f}, std::vector{x}, step);
    const std::vector<float> logits = values_of(x);
    for (size_t t = 0; t < 3; ++t) {
        std::vector<size_t> order(61);
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(),
                  [&](size_t a, size_t b) { return logits[t * 61 + a] > logits[t * 61 + b]; });
        double sum = 0;
        for (size_t i = 0; i < 61; ++i) sum += std::exp(static_cast<double>(logits[t * 61 + i]));
        for (size_t s = 0; s < 7; ++s) {
            EXPECT_EQ(ids_of(outputs[0])[t * 7 + s], static_cast<int32_t>(order[s]));
            EXPECT_NEAR(values_of(outputs[1])[t * 7 + s], std::exp(logits[t * 61 + order[s]]) / sum, 1e-6);
        }
    }
    EXPECT_TRUE(rest_is_poisoned(outputs[0], step));
    EXPECT_TRUE(rest_is_poisoned(outputs[1], step));
}

TEST(TopKExperts, RenormalisesAndScales) {
    const auto outputs = choose({2, true, 3.0f}, {0.0f, std::log(3.0f), std::log(6.0f)});
    EXPECT_THAT(ids_of(outputs[0]), ElementsAre(2, 1));
    EXPECT_THAT(values_of(outputs[1]),
                ElementsAre(testing::FloatNear(2.0f, 1e-6f), testing::FloatNear(1.0f, 1e-6f)));
}

TEST(TopKExperts, TakesTheLowerIdAmongEquals) {
    EXPECT_THAT(ids_of(choose({3, true, 1.0f}, {1, 2, 2, 1, 2})[0]), ElementsAre(1, 2, 4));
    EXPECT_THAT(ids_of(choose({2, true, 1.0f}, {0, 0, 0})[0]), ElementsAre(0, 1));
}

TEST(TopKExperts, BearsLargeLogits) {
    const auto outputs = choose({2, true, 1.0f}, {-3e38f, 500.0f, 499.0f});
    EXPECT_THAT(ids_of(outputs[0]), ElementsAre(1, 2));
    EXPECT_NEAR(values_of(outputs[1])[0], 1 / (1 + std::exp(-1.0)), 1e-6);
}

TEST(TopKExperts, MayUseAllAndOne) {
    EXPECT_THAT(ids_of(choose({3, false, 1.0f}, {1, 3, 2})[0]), ElementsAre(1, 2, 0));
    EXPECT_THAT(values_of(choose({1, false, 1.0f}, {7})[1]), ElementsAre(1.0f));
}

TEST(WeightedSum, SumsSlots) {
    const TestTensor x = make_tensor(rows_of({3, 4, 5}), 1);
    const TestTensor weights = make_tensor(rows_of({3, 4}), 2);
    const TestStep step(simple_spec(3, 2));
    const auto outputs = run_reference(WeightedSum{}, std::vector{x, weights}, step);
    for (size_t t = 0; t < 2; ++t) {
        for (size_t i = 0; i < 5; ++i) {
            double sum = 0;
            for (size_t s = 0; s < 4; ++s)
                sum += static_cast<double>(values_of(weights)[t * 4 + s]) * values_of(x)[(t * 4 + s) * 5 + i];
            EXPECT_NEAR(values_of(outputs[0])[t * 5 + i], sum, 1e-6);
        }
    }
    EXPECT_TRUE(rest_is_poisoned(outputs[0], step));
}

TEST(Experts, DoNothingInAnEmptyStep) {
    const TestStep step(simple_spec(3, 0));
    const auto chosen =
        run_reference(TopKExperts{.used = 2}, std::vector{make_poisoned(rows_of({3, 4}))}, step);
    EXPECT_TRUE(rest_is_poisoned(chosen[0], step));
    EXPECT_TRUE(rest_is_poisoned(chosen[1], step));
    const std::vector summed{make_poisoned(rows_of({3, 2, 5})), make_poisoned(rows_of({3, 2}))};
    EXPECT_TRUE(rest_is_poisoned(run_reference(WeightedSum{}, summed, step)[0], step));
}

TEST(Experts, SayWhatDoesNotFit) {
    EXPECT_EQ(refusal(TopKExperts{.used = 2}, {rows_of({8})}),
              "top_k_experts: expected logits as F32 [tokens, experts], found F32[8]");
    EXPECT_EQ(refusal(TopKExperts{.used = 2}, {rows_of({1, 1025})}),
              "top_k_experts: expected at most 1024 experts, found F32[1, 1025]");
    EXPECT_EQ(refusal(TopKExperts{.used = 9}, {rows_of({1, 8})}),
              "top_k_experts: expected 1 to 8 experts to be used, found 9");
    EXPECT_EQ(refusal(TopKExperts{}, {rows_of({1, 8})}),
              "top_k_experts: expected 1 to 8 experts to be used, found 0");
    EXPECT_EQ(refusal(WeightedSum{}, {rows_of({3, 5}), rows_of({3, 4})}),
              "weighted_sum: expected x as F32 [tokens, used, n], found F32[3, 5]");
    EXPECT_EQ(refusal(WeightedSum{}, {rows_of({3, 4, 5}), rows_of({3, 5})}),
              "weighted_sum: expected weights as F32[3, 4], found F32[3, 5]");
}

TEST(AddExpertBias, AddsTheBiasOfEachSlotsExpert) {
    const TestTensor x = make_tensor(rows_of({3, 2, 5}), 1);
    const TestTensor bias = make_tensor({DType::F32, {4, 5}}, 2);
    const TestTensor ids = make_ids(rows_of({3, 2}, DType::I32), std::vector<int32_t>{3, 0, 1, 1, 99, 99});
    const TestStep step(simple_spec(3, 2));
    const auto outputs = run_reference(AddExpertBias{}, std::vector{x, bias, ids}, step);
    for (size_t slot = 0; slot < 4; ++slot) {
        const auto expert = static_cast<size_t>(ids_of(ids)[slot]);
        for (size_t i = 0; i < 5; ++i)
            EXPECT_EQ(values_of(outputs[0])[slot * 5 + i],
                      values_of(x)[slot * 5 + i] + values_of(bias)[expert * 5 + i]);
    }
    EXPECT_TRUE(rest_is_poisoned(outputs[0], step));
}

TEST(AddExpertBias, LeavesSlotsOfOtherExperts) {
    const TestTensor x = make_tensor(rows_of({3, 2, 5}), 1);
    const TestTensor bias = make_tensor({DType::F32, {7, 5}}, 2);
    const TestTensor ids = make_ids(rows_of({3, 2}, DType::I32), std::vector<int32_t>{6, 0, 1, 4, 99, 99});
    const TestStep step(simple_spec(3, 2));
    const TestTensor whole = run_reference(AddExpertBias{}, std::vector{x, bias, ids}, step)[0];
    for (const auto& [begin, count] : {std::pair{0, 2}, {2, 0}, {2, 5}}) {
        const std::vector inputs{x, part_of(bias, 0, begin, count), ids};
        const TestTensor part = run_reference(AddExpertBias{.first_expert = begin}, inputs, step)[0];
        for (size_t i = 0; i < 20; ++i) {
            const int32_t id = ids_of(ids)[i / 5];
            const bool own = id >= begin && id < begin + count;
            EXPECT_EQ(values_of(part)[i], values_of(own ? whole : x)[i]);
        }
        EXPECT_TRUE(rest_is_poisoned(part, step));
    }
}

TEST(AddExpertBias, SaysWhatDoesNotFit) {
    const TensorDesc x = rows_of({3, 2, 5}), bias{DType::F32, {4, 5}}, ids = rows_of({3, 2}, DType::I32);
    EXPECT_EQ(refusal(AddExpertBias{}, {x, bias, ids}), "");
    EXPECT_EQ(refusal(AddExpertBias{}, {x, bias}), "add_expert_bias: expected 3 operands, found 2");
    EXPECT_EQ(refusal(AddExpertBias{}, {rows_of({3, 5}), bias, ids}),
              "add_expert_bias: expected x as F32 [tokens, used, n], found F32[3, 5]");
    EXPECT_EQ(refusal(AddExpertBias{}, {x, {DType::F32, {4, 6}}, ids}),
              "add_expert_bias: expected bias as F32 [experts, 5], found F32[4, 6]");
    EXPECT_EQ(refusal(AddExpertBias{}, {x, bias, rows_of({3, 3}, DType::I32)}),
              "add_expert_bias: expected ids as I32[3, 2], found I32[3, 3]");
}

}  // namespace
}  // namespace plait::ir::test
