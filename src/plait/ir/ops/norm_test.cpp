#include "plait/ir/ops/norm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "plait/ir/test_support.h"

namespace plait::ir::test {
namespace {

TensorDesc rows_of(Shape shape) { return {DType::F32, shape, Rows::tokens}; }

// Both norms are (x - center) * scale * w + b; only center and b differ.
std::vector<double> expected_norm(const std::vector<float>& x, const std::vector<float>& w,
                                  const std::vector<float>& b, bool centered, double epsilon) {
    const size_t n = w.size();
    std::vector<double> y;
    for (size_t begin = 0; begin < x.size(); begin += n) {
        const std::vector<double> row(x.begin() + begin, x.begin() + begin + n);
        const double mean = std::accumulate(row.begin(), row.end(), 0.0) / n;
        const double squares = std::inner_product(row.begin(), row.end(), row.begin(), 0.0) / n;
        const double spread = centered ? squares - mean * mean : squares;
        for (size_t i = 0; i < n; ++i) {
            const double value = (row[i] - (centered ? mean : 0.0)) / std::sqrt(spread + epsilon) * w[i];
            y.push_back(value + (centered ? b[i] : 0.0));
        }
    }
    return y;
}

void expect_near(const std::vector<float>& found, const std::vector<double>& expected, size_t count) {
    ASSERT_LE(count, found.size());
    for (size_t i = 0; i < count; ++i) EXPECT_NEAR(found[i], expected[i], 1e-5) << i;
}

TEST(RmsNorm, MatchesItsFormulaOverOddWidths) {
    for (int64_t n : {1, 3, 64, 1001}) {
        const TestTensor x = make_tensor(rows_of({5, n}), 1);
        const TestTensor w = make_tensor({DType::F32, {n}}, 2);
        const TestStep step(simple_spec(5, 3));
        const auto outputs = run_reference(RmsNorm{1e-5f}, std::vector{x, w}, step);
        expect_near(values_of(outputs[0]), expected_norm(values_of(x), values_of(w), {}, false, 1e-5),
                    static_cast<size_t>(3 * n));
        EXPECT_TRUE(rest_is_poisoned(outputs[0], step));
    }
}

TEST(RmsNorm, TreatsEveryHeadByItself) {
    const TestTensor x = make_tensor(rows_of({2, 3, 5}), 1);
    const TestTensor w = make_tensor({DType::F32, {5}}, 2);
    const TestStep step(simple_spec(2, 1));
    const auto outputs = run_reference(RmsNorm{1e-6f}, std::vector{x, w}, step);
    expect_near(values_of(outputs[0]), expected_norm(values_of(x), values_of(w), {}, false, 1e-6), 15);
    EXPECT_TRUE(rest_is_poisoned(outputs[0], step));
}

TEST(RmsNorm, KeepsZerosFiniteThroughEpsilon) {
    const TestTensor x = make_tensor(rows_of({1, 4}), std::vector<float>(4, 0.0f));
    const TestTensor w = make_tensor({DType::F32, {4}}, 2);
    const auto outputs = run_reference(RmsNorm{1e-5f}, std::vector{x, w}, TestStep(simple_spec(1, 1)));
    EXPECT_THAT(values_of(outputs[0]), testing::Each(0.0f));
}

// A row of 1001 in parts of 300, 1 and 700, whose sums are added up.
TEST(RmsScale, NormsPartsAsTheWhole) {
    const TestTensor x = make_tensor(rows_of({5, 1001}), 1);
    const TestTensor w = make_tensor({DType::F32, {1001}}, 2);
    const TestStep step(simple_spec(5, 4));
    const TestTensor whole = run_reference(RmsNorm{1e-5f}, std::vector{x, w}, step)[0];
    const std::pair<int64_t, int64_t> parts[] = {{0, 300}, {300, 1}, {301, 700}};
    std::vector<float> sums(5);
    for (const auto& [begin, count] : parts) {
        const auto part = run_reference(SumSquares{}, std::vector{part_of(x, 1, begin, count)}, step)[0];
        EXPECT_EQ(part.desc, rows_of({5, 1}));
        EXPECT_TRUE(rest_is_poisoned(part, step));
        for (size_t row = 0; row < 4; ++row) sums[row] += values_of(part)[row];
    }
    const TestTensor all = make_tensor(rows_of({5, 1}), sums);
    for (const auto& [begin, count] : parts) {
        const std::vector<TestTensor> inputs{part_of(x, 1, begin, count), all, part_of(w, 0, begin, count)};
        const TestTensor y = run_reference(RmsScale{1e-5f, 1001}, inputs, step)[0];
        const std::vector<float> expected = values_of(part_of(whole, 1, begin, count));
        expect_near(values_of(y), {expected.begin(), expected.end()}, static_cast<size_t>(4 * count));
        EXPECT_TRUE(rest_is_poisoned(y, step));
    }
}

TEST(LayerNorm, MatchesItsFormulaOverOddWidths) {
    for (int64_t n : {2, 7, 64, 1001}) {
        const TestTensor x = make_tensor(rows_of({5, n}), 1);
        const TestTensor w = make_tensor({DType::F32, {n}}, 2);
        const TestTensor b = make_tensor({DType::F32, {n}}, 3);
        const TestStep step(simple_spec(5, 4));
        const auto outputs = run_reference(LayerNorm{1e-5f}, std::vector{x, w, b}, step);
        expect_near(values_of(outputs[0]),
                    expected_norm(values_of(x), values_of(w), values_of(b), true, 1e-5),
                    static_cast<size_t>(4 * n));
        EXPECT_TRUE(rest_is_poisoned(outputs[0], step));
    }
}

TEST(LayerNorm, GivesTheBiasForARowOfEqualValues) {
    const TestTensor x = make_tensor(rows_of({1, 3}), std::vector<float>(3, 7.0f));
    const TestTensor w = make_tensor({DType::F32, {3}}, 1);
    const TestTensor b = make_tensor({DType::F32, {3}}, 2);
    const auto outputs = run_reference(LayerNorm{1e-5f}, std::vector{x, w, b}, TestStep(simple_spec(1, 1)));
    EXPECT_EQ(values_of(outputs[0]), values_of(b));
}

TEST(LayerNorm, AddsNothingWithoutABias) {
    const TestTensor x = make_tensor(rows_of({3, 7}), 1);
    const TestTensor w = make_tensor({DType::F32, {7}}, 2);
    const TestTensor none = make_tensor({DType::F32, {7}}, std::vector<float>(7, 0.0f));
    const TestStep step(simple_spec(3, 3));
    EXPECT_EQ(values_of(run_reference(LayerNorm{1e-5f}, std::vector{x, w}, step)[0]),
              values_of(run_reference(LayerNorm{1e-5f}, std::vector{x, w, none}, step)[0]));
}

// With a row of weights for each head, head h is what a norm with row h alone makes of it.
TEST(Norms, HeadsMayHaveWeightsOfTheirOwn) {
    constexpr size_t kHeads = 3, kWidth = 5;
    const TestTensor x = make_tensor(rows_of({2, kHeads, kWidth}), 1);
    const TestTensor w = make_tensor({DType::F32, {kHeads, kWidth}}, 2);
    const TestTensor b = make_tensor({DType::F32, {kHeads, kWidth}}, 3);
    const TestStep step(simple_spec(2, 2));
    const auto rms = values_of(run_reference(RmsNorm{1e-5f}, std::vector{x, w}, step)[0]);
    const auto layer = values_of(run_reference(LayerNorm{1e-5f}, std::vector{x, w, b}, step)[0]);
    const auto row = [](const TestTensor& tensor, size_t head) {
        const std::vector<float> all = values_of(tensor);
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(head * kWidth);
        return make_tensor({DType::F32, {kWidth}}, std::vector<float>(begin, begin + kWidth));
    };
    for (size_t head = 0; head < kHeads; ++head) {
        const auto rms_alone =
            values_of(run_reference(RmsNorm{1e-5f}, std::vector{x, row(w, head)}, step)[0]);
        const auto layer_alone =
            values_of(run_reference(LayerNorm{1e-5f}, std::vector{x, row(w, head), row(b, head)}, step)[0]);
        for (size_t token = 0; token < 2; ++token) {
            for (size_t i = 0; i < kWidth; ++i) {
                const size_t at = (token * kHeads + head) * kWidth + i;
                EXPECT_EQ(rms[at], rms_alone[at]);
                EXPECT_EQ(layer[at], layer_alone[at]);
            }
        }
    }
}

TEST(Norms, DoNothingInAnEmptyStep) {
    const TestTensor x = make_poisoned(rows_of({2, 4}));
    const TestTensor w = make_tensor({DType::F32, {4}}, 2);
    const TestStep step(simple_spec(2, 0));
    EXPECT_TRUE(rest_is_poisoned(run_reference(RmsNorm{}, std::vector{x, w}, step)[0], step));
    EXPECT_TRUE(rest_is_poisoned(run_reference(LayerNorm{}, std::vector{x, w, w}, step)[0], step));
    EXPECT_TRUE(rest_is_poisoned(run_reference(SumSquares{}, std::vector{x}, step)[0], step));
    const std::vector<TestTensor> part{x, make_poisoned(rows_of({2, 1})), w};
    EXPECT_TRUE(rest_is_poisoned(run_reference(RmsScale{0.0f, 4}, part, step)[0], step));
}

TEST(Norms, SayWhatDoesNotFit) {
    const TensorDesc x = rows_of({2, 4});
    const TensorDesc w{DType::F32, {4}};
    EXPECT_EQ(refusal(RmsNorm{}, {x}), "rms_norm: expected 2 operands, found 1");
    EXPECT_EQ(refusal(RmsNorm{}, {w, w}), "rms_norm: expected x as F32 [rows, ..., n], found F32[4]");
    EXPECT_EQ(refusal(RmsNorm{}, {x, {DType::F16, {4}}}),
              "rms_norm: expected w as F32 [4], the innermost extent of x, or a row of it for each head, "
              "found F16[4]");
    EXPECT_EQ(refusal(SumSquares{}, {x, x}), "sum_squares: expected 1 operands, found 2");
    EXPECT_EQ(refusal(SumSquares{}, {rows_of({2, 3, 4})}),
              "sum_squares: expected x as F32 [rows, n], found F32[2, 3, 4]");
    const TensorDesc sums = rows_of({2, 1});
    EXPECT_EQ(refusal(RmsScale{0.0f, 4}, {x, sums, w}), "");
    EXPECT_EQ(refusal(RmsScale{0.0f, 3}, {x, sums, w}),
              "rms_scale: expected a part of rows of 3 values, found F32[2, 4]");
    EXPECT_EQ(refusal(RmsScale{0.0f, 4}, {x, x, w}),
              "rms_scale: expected sums as F32[2, 1], found F32[2, 4]");
    EXPECT_EQ(refusal(RmsScale{0.0f, 4}, {x, sums, {DType::F32, {5}}}),
              "rms_scale: expected w as F32[4], found F32[5]");
    EXPECT_EQ(refusal(LayerNorm{}, {x}), "layer_norm: expected 2 to 3 operands, found 1");
    EXPECT_EQ(refusal(LayerNorm{}, {{DType::F16, {2, 4}}, w, w}),
              "layer_norm: expected x as F32 [rows, ..., n], found F16[2, 4]");
    EXPECT_EQ(refusal(LayerNorm{}, {x, w, {DType::F32, {5}}}),
              "layer_norm: expected b as F32 [4], the innermost extent of x, or a row of it for each head, "
              "found F32[5]");
    EXPECT_EQ(op_infer(LayerNorm{}, std::vector{x, w, w}), std::vector{x});
    EXPECT_EQ(op_infer(LayerNorm{}, std::vector{x, w}), std::vector{x});
    const TensorDesc heads = rows_of({2, 3, 4});
    EXPECT_EQ(op_infer(RmsNorm{}, std::vector{heads, {DType::F32, {3, 4}}}), std::vector{heads});
    EXPECT_THAT(refusal(RmsNorm{}, {heads, {DType::F32, {2, 4}}}), testing::HasSubstr("found F32[2, 4]"));
    EXPECT_THAT(refusal(LayerNorm{}, {x, {DType::F32, {2, 4}}}), testing::HasSubstr("found F32[2, 4]"));
}

}  // namespace
}  // namespace plait::ir::test
