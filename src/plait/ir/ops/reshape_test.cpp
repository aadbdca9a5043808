#include "plait/ir/ops/reshape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plait/ir/test_support.h"

namespace plait::ir::test {
namespace {

TensorDesc rows_of(Shape shape) { return {DType::F32, shape, Rows::tokens}; }

TEST(SplitHeads, GivesHeadsAnAxis) {
    EXPECT_EQ(op_infer(SplitHeads{3}, std::vector{rows_of({4, 15})}), std::vector{rows_of({4, 3, 5})});
    EXPECT_EQ(op_infer(SplitHeads{1}, std::vector{rows_of({4, 15})}), std::vector{rows_of({4, 1, 15})});
}

TEST(MergeHeads, TakesTheAxisAway) {
    EXPECT_EQ(op_infer(MergeHeads{}, std::vector{rows_of({4, 3, 5})}), std::vector{rows_of({4, 15})});
}

TEST(Slice, TakesFeaturesOfActualRows) {
    const TestTensor x = make_tensor(rows_of({4, 7}), 1);
    const TestStep step(simple_spec(4, 3));
    for (const Slice& op : {Slice{0, 7}, Slice{0, 1}, Slice{6, 1}, Slice{2, 3}}) {
        const auto outputs = run_reference(op, std::vector{x}, step);
        EXPECT_EQ(outputs[0].desc, rows_of({4, op.extent}));
        for (size_t t = 0; t < 3; ++t) {
            for (size_t i = 0; i < static_cast<size_t>(op.extent); ++i) {
                EXPECT_EQ(values_of(outputs[0])[t * static_cast<size_t>(op.extent) + i],
                          values_of(x)[t * 7 + static_cast<size_t>(op.begin) + i]);
            }
        }
        EXPECT_TRUE(rest_is_poisoned(outputs[0], step));
    }
}

TEST(Zeros, FillActualRows) {
    StepSpec spec = simple_spec(4, 3);
    spec.capacity.outputs = 2;
    const TestStep step(spec);
    for (const Zeros& op : {Zeros{{4, 7}}, Zeros{{4, 3, 5}}, Zeros{{2, 7}, Rows::outputs},
                            Zeros{{3, 7}, Rows::fixed}, Zeros{{4, 0}}}) {
        const auto outputs = run_reference(op, {}, step);
        EXPECT_EQ(outputs[0].desc, (TensorDesc{DType::F32, op.shape, op.rows}));
        const TestTensor used = part_of(outputs[0], 0, 0, actual_rows(outputs[0], step));
        EXPECT_THAT(values_of(used), testing::Each(0.0f));
        EXPECT_TRUE(rest_is_poisoned(outputs[0], step));
    }
}

TEST(Pad, PutsZerosAround) {
    const TestStep step(simple_spec(4, 3));
    for (const Shape& shape : {Shape{4, 7}, Shape{4, 2, 5}, Shape{4, 1}}) {
        const TestTensor x = make_tensor(rows_of(shape), 1);
        const int64_t n = shape.last();
        const int axis = shape.rank() - 1;
        for (const Pad& op : {Pad{0, 0}, Pad{2, 0}, Pad{0, 3}, Pad{1, 9}}) {
            const TestTensor y = run_reference(op, std::vector{x}, step)[0];
            EXPECT_EQ(y.desc.shape.last(), op.before + n + op.after);
            EXPECT_TRUE(rest_is_poisoned(y, step));
            const TestTensor used = part_of(y, 0, 0, 3);
            EXPECT_EQ(part_of(used, axis, op.before, n).bytes, part_of(x, 0, 0, 3).bytes);
            EXPECT_THAT(values_of(part_of(used, axis, 0, op.before)), testing::Each(0.0f));
            EXPECT_THAT(values_of(part_of(used, axis, op.before + n, op.after)), testing::Each(0.0f));
        }
    }
}

TEST(Concat, PutsFeaturesSideBySide) {
    const TestStep step(simple_spec(4, 3));
    std::vector<TestTensor> parts;
    for (int64_t n : {3, 1, 7}) {
        parts.push_back(make_tensor(rows_of({4, n}), static_cast<uint64_t>(n)));
        const TestTensor y = run_reference(Concat{}, parts, step)[0];
        EXPECT_TRUE(rest_is_poisoned(y, step));
        int64_t begin = 0;
        for (const TestTensor& part : parts) {
            const int64_t width = part.desc.shape[1];
            EXPECT_EQ(part_of(part_of(y, 1, begin, width), 0, 0, 3).bytes, part_of(part, 0, 0, 3).bytes);
            begin += width;
        }
        EXPECT_EQ(y.desc, rows_of({4, begin}));
    }
}

TEST(GatherRows, TakesWantedRows) {
    StepSpec spec = simple_spec(5, 5);
    spec.capacity.outputs = 4;
    spec.output_rows = {4, 0, 4};
    const TestStep step(spec);
    const TestTensor x = make_tensor(rows_of({5, 3}), 1);
    const TestTensor rows = make_ids({DType::I32, {4}, Rows::outputs}, step.view().output_rows);
    const auto outputs = run_reference(GatherRows{}, std::vector{x, rows}, step);
    EXPECT_EQ(outputs[0].desc, (TensorDesc{DType::F32, {4, 3}, Rows::outputs}));
    const size_t from[] = {4, 0, 4};
    for (size_t row = 0; row < 3; ++row) {
        for (size_t i = 0; i < 3; ++i)
            EXPECT_EQ(values_of(outputs[0])[row * 3 + i], values_of(x)[from[row] * 3 + i]);
    }
    EXPECT_TRUE(rest_is_poisoned(outputs[0], step));
}

TEST(Reshape, DoesNothingInAnEmptyStep) {
    const TestStep step(simple_spec(4, 0));
    const TestTensor x = make_poisoned(rows_of({4, 7}));
    const TestTensor rows = make_poisoned({DType::I32, {1}, Rows::outputs});
    EXPECT_TRUE(rest_is_poisoned(run_reference(Slice{1, 2}, std::vector{x}, step)[0], step));
    EXPECT_TRUE(rest_is_poisoned(run_reference(Zeros{{4, 7}}, {}, step)[0], step));
    EXPECT_TRUE(rest_is_poisoned(run_reference(Pad{1, 2}, std::vector{x}, step)[0], step));
    EXPECT_TRUE(rest_is_poisoned(run_reference(Concat{}, std::vector{x, x}, step)[0], step));
    EXPECT_TRUE(rest_is_poisoned(run_reference(GatherRows{}, std::vector{x, rows}, step)[0], step));
}

TEST(Reshape, SaysWhatDoesNotFit) {
    const TensorDesc x = rows_of({4, 15});
    EXPECT_EQ(refusal(SplitHeads{3}, {rows_of({4, 3, 5})}),
              "split_heads: expected x as F32 [rows, heads * width], found F32[4, 3, 5]");
    EXPECT_EQ(refusal(SplitHeads{4}, {x}),
              "split_heads: expected features that 4 heads can share, found F32[4, 15]");
    EXPECT_EQ(refusal(SplitHeads{0}, {x}),
              "split_heads: expected features that 0 heads can share, found F32[4, 15]");
    EXPECT_EQ(refusal(MergeHeads{}, {x}),
              "merge_heads: expected x as F32 [rows, heads, width], found F32[4, 15]");
    EXPECT_EQ(refusal(Slice{0, 1}, {rows_of({4})}), "slice: expected x as F32 [rows, n], found F32[4]");
    EXPECT_EQ(refusal(Slice{10, 6}, {x}), "slice: expected x with features 10 to 15, found F32[4, 15]");
    EXPECT_NE(refusal(Slice{-1, 2}, {x}), "");
    EXPECT_NE(refusal(Slice{0, 0}, {x}), "");
    EXPECT_NE(refusal(Slice{16, 1}, {x}), "");
    EXPECT_EQ(refusal(Zeros{{4, 2}}, {x}), "zeros: expected 0 operands, found 1");
    EXPECT_EQ(refusal(Zeros{{4}}, {}), "zeros: expected a shape [rows, ..., n], found F32[4]");
    EXPECT_EQ(refusal(Pad{1, 1}, {rows_of({4})}), "pad: expected x as F32 [rows, ..., n], found F32[4]");
    EXPECT_EQ(refusal(Concat{}, {}), "concat: expected at least 1 operands, found 0");
    EXPECT_EQ(refusal(Concat{}, {rows_of({4})}), "concat: expected parts as F32 [rows, n], found F32[4]");
    EXPECT_EQ(refusal(Concat{}, {x, rows_of({4, 3, 5})}),
              "concat: expected parts as F32 [rows, n], found F32[4, 3, 5]");
    EXPECT_EQ(refusal(Concat{}, {x, rows_of({5, 15})}),
              "concat: expected 4 rows as the first part has, found F32[5, 15]");
    EXPECT_NE(refusal(Concat{}, {x, {DType::F32, {4, 15}, Rows::outputs}}), "");
    EXPECT_EQ(refusal(GatherRows{}, {x, x}), "gather_rows: expected rows as I32 [outputs], found F32[4, 15]");
    EXPECT_EQ(refusal(GatherRows{}, {x}), "gather_rows: expected 2 operands, found 1");
}

}  // namespace
}  // namespace plait::ir::test
