#include "plait/ir/ops/matmul.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "plait/ir/test_support.h"

namespace plait::ir::test {
namespace {

TensorDesc rows_of(Shape shape, DType type = DType::F32) { return {type, shape, Rows::tokens}; }

double product(const std::vector<float>& a, size_t a_row, const std::vector<float>& b, size_t b_row,
               size_t n) {
    return std::inner_product(a.begin() + a_row * n, a.begin() + (a_row + 1) * n, b.begin() + b_row * n, 0.0);
}

class MatmulTypes : public testing::TestWithParam<DType> {
  protected:
    std::vector<int64_t> column_counts() const {
        const int64_t block = dtype::info(GetParam()).block_elements;
        if (block == 1) return {1, 33, 256, 257, 600};
        if (block > 32) return {block, 3 * block};
        return {32, 96, 256, 288, 544};
    }
};

TEST_P(MatmulTypes, MatchesItsFormula) {
    for (int64_t in : column_counts()) {
        const TestTensor x = make_tensor(rows_of({4, in}), 1);
        const TestTensor w = make_tensor({GetParam(), {5, in}}, 2);
        const TestStep step(simple_spec(4, 3));
        const auto outputs = run_reference(Matmul{}, std::vector{x, w}, step);
        EXPECT_EQ(outputs[0].desc, rows_of({4, 5}));
        const std::vector<float> xs = values_of(x);
        const std::vector<float> ws = values_of(w);
        const std::vector<float> y = values_of(outputs[0]);
        for (size_t t = 0; t < 3; ++t) {
            for (size_t o = 0; o < 5; ++o)
                EXPECT_NEAR(y[t * 5 + o], product(xs, t, ws, o, static_cast<size_t>(in)), 1e-5);
        }
        EXPECT_TRUE(rest_is_poisoned(outputs[0], step));
    }
}

TEST_P(MatmulTypes, GivesATokenTheSameBitsAmongOthers) {
    const int64_t in = dtype::padded_elements(GetParam(), 544);
    const TestTensor x = make_tensor(rows_of({7, in}), 1);
    const TestTensor w = make_tensor({GetParam(), {9, in}}, 2);
    const auto alone = run_reference(Matmul{}, std::vector{x, w}, TestStep(simple_spec(7, 1)));
    const auto among = run_reference(Matmul{}, std::vector{x, w}, TestStep(simple_spec(7, 7)));
    EXPECT_TRUE(std::equal(alone[0].bytes.begin(), alone[0].bytes.begin() + 9 * 4, among[0].bytes.begin()));
}

TEST_P(MatmulTypes, ChoosesExpertsPerSlot) {
    const std::vector<int32_t> chosen{3, 0, 2, 2, 1, 3, 99, 99};
    const int64_t in = dtype::padded_elements(GetParam(), 64);
    const TestTensor w = make_tensor({GetParam(), {4, 3, in}}, 1);
    const TestTensor ids = make_ids(rows_of({4, 2}, DType::I32), chosen);
    const TestStep step(simple_spec(4, 3));
    for (const Shape& shape : {Shape{4, in}, Shape{4, 2, in}}) {
        const TestTensor x = make_tensor(rows_of(shape), 2);
        const auto outputs = run_reference(MatmulExperts{}, std::vector{x, w, ids}, step);
        EXPECT_EQ(outputs[0].desc, rows_of({4, 2, 3}));
        const std::vector<float> y = values_of(outputs[0]);
        for (size_t slot = 0; slot < 6; ++slot) {
            for (size_t o = 0; o < 3; ++o) {
                const size_t x_row = shape.rank() == 2 ? slot / 2 : slot;
                const size_t w_row = static_cast<size_t>(chosen[slot]) * 3 + o;
                EXPECT_NEAR(y[slot * 3 + o],
                            product(values_of(x), x_row, values_of(w), w_row, static_cast<size_t>(in)), 1e-5);
            }
        }
        EXPECT_TRUE(rest_is_poisoned(outputs[0], step));
    }
}

// Seven experts in parts of two, none and five.
TEST_P(MatmulTypes, ExpertsOfOtherPartsGiveZeros) {
    const int64_t in = dtype::padded_elements(GetParam(), 64);
    const TestTensor x = make_tensor(rows_of({3, in}), 1);
    const TestTensor w = make_tensor({GetParam(), {7, 4, in}}, 2);
    const TestTensor ids = make_ids(rows_of({3, 2}, DType::I32), std::vector<int32_t>{6, 0, 1, 4, 99, 99});
    const TestStep step(simple_spec(3, 2));
    const TestTensor whole = run_reference(MatmulExperts{}, std::vector{x, w, ids}, step)[0];
    for (const auto& [begin, count] : {std::pair{0, 2}, {2, 0}, {2, 5}}) {
        const std::vector inputs{x, part_of(w, 0, begin, count), ids};
        const TestTensor part = run_reference(MatmulExperts{.first_expert = begin}, inputs, step)[0];
        for (size_t i = 0; i < 16; ++i) {
            const int32_t id = ids_of(ids)[i / 4];
            const bool own = id >= begin && id < begin + count;
            EXPECT_EQ(values_of(part)[i], own ? values_of(whole)[i] : 0.0f);
        }
        EXPECT_TRUE(rest_is_poisoned(part, step));
    }
}

INSTANTIATE_TEST_SUITE_P(Formats, MatmulTypes, testing::ValuesIn(weight_types()),
                         [](const auto& test) { return dtype::info(test.param).name; });

TEST(Matmul, DoesNothingInAnEmptyStep) {
    const TestTensor x = make_poisoned(rows_of({2, 32}));
    const TestTensor w = make_tensor({DType::Q8_0, {3, 32}}, 2);
    const TestStep step(simple_spec(2, 0));
    EXPECT_TRUE(rest_is_poisoned(run_reference(Matmul{}, std::vector{x, w}, step)[0], step));
}

TEST(Matmul, CountsRowsWithLogitsAsItsOwn) {
    StepSpec spec = simple_spec(4, 4);
    spec.capacity.outputs = 2;
    const TestStep step(spec);
    const TestTensor x = make_tensor({DType::F32, {2, 3}, Rows::outputs}, 1);
    const TestTensor w = make_tensor({DType::F32, {5, 3}}, 2);
    const auto outputs = run_reference(Matmul{}, std::vector{x, w}, step);
    EXPECT_EQ(outputs[0].desc.rows, Rows::outputs);
    EXPECT_EQ(actual_rows(outputs[0], step), 1);
    EXPECT_TRUE(rest_is_poisoned(outputs[0], step));
}

TEST(Matmul, SaysWhatDoesNotFit) {
    const TensorDesc x = rows_of({2, 40});
    EXPECT_EQ(refusal(Matmul{}, {x}), "matmul: expected 2 operands, found 1");
    EXPECT_EQ(refusal(Matmul{}, {rows_of({2, 3, 4}), x}),
              "matmul: expected x as F32 [rows, in], found F32[2, 3, 4]");
    EXPECT_EQ(refusal(Matmul{}, {x, {DType::F16, {40}}}),
              "matmul: expected w as [out, in] of a weight format, found F16[40]");
    EXPECT_EQ(refusal(Matmul{}, {x, {DType::I32, {3, 40}}}),
              "matmul: expected w as [out, in] of a weight format, found I32[3, 40]");
    EXPECT_EQ(refusal(Matmul{}, {x, {DType::F16, {3, 41}}}),
              "matmul: expected w of 40 columns as x has, found F16[3, 41]");
    EXPECT_EQ(refusal(Matmul{}, {x, {DType::Q8_0, {3, 40}}}),
              "matmul: expected columns of w that are a multiple of 32, found Q8_0[3, 40]");
}

TEST(MatmulExperts, SaysWhatDoesNotFit) {
    const TensorDesc x = rows_of({2, 3, 8});
    const TensorDesc w{DType::F32, {4, 5, 8}};
    const TensorDesc ids = rows_of({2, 3}, DType::I32);
    EXPECT_EQ(refusal(MatmulExperts{}, {x, w, ids}), "");
    EXPECT_EQ(refusal(MatmulExperts{}, {x, w}), "matmul_experts: expected 3 operands, found 2");
    EXPECT_EQ(refusal(MatmulExperts{}, {rows_of({8}), w, ids}),
              "matmul_experts: expected x as F32 [rows, in] or [rows, used, in], found F32[8]");
    EXPECT_EQ(refusal(MatmulExperts{}, {x, {DType::F32, {4, 8}}, ids}),
              "matmul_experts: expected w as [experts, out, in] of a weight format, found F32[4, 8]");
    EXPECT_EQ(refusal(MatmulExperts{}, {x, {DType::F32, {4, 5, 9}}, ids}),
              "matmul_experts: expected w of 8 columns as x has, found F32[4, 5, 9]");
    EXPECT_EQ(refusal(MatmulExperts{}, {x, w, rows_of({2, 3})}),
              "matmul_experts: expected ids as I32 [rows, used], found F32[2, 3]");
    EXPECT_EQ(refusal(MatmulExperts{}, {x, w, rows_of({1, 3}, DType::I32)}),
              "matmul_experts: expected ids of 2 rows as x has, found I32[1, 3]");
    EXPECT_EQ(refusal(MatmulExperts{}, {x, w, rows_of({2, 4}, DType::I32)}),
              "matmul_experts: expected 3 ids per row as x has slots, found I32[2, 4]");
}

}  // namespace
}  // namespace plait::ir::test
