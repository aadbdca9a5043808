#include "plait/ir/ops/embed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plait/ir/test_support.h"

namespace plait::ir::test {
namespace {

const TensorDesc kIds{DType::I32, {4}, Rows::tokens};

class EmbedTypes : public testing::TestWithParam<DType> {};

TEST_P(EmbedTypes, GivesTheDecodedRows) {
    const auto width = static_cast<size_t>(dtype::padded_elements(GetParam(), 64));
    const TestTensor table = make_tensor({GetParam(), {6, static_cast<int64_t>(width)}}, 1);
    const TestTensor ids = make_ids(kIds, std::vector<int32_t>{5, 0, 5, -7});
    const TestStep step(simple_spec(4, 3));
    const auto outputs = run_reference(Embed{}, std::vector{table, ids}, step);
    const std::vector<float> rows = values_of(table);
    const std::vector<float> y = values_of(outputs[0]);
    for (size_t i = 0; i < width; ++i) {
        EXPECT_EQ(y[i], rows[5 * width + i]);
        EXPECT_EQ(y[width + i], rows[i]);
        EXPECT_EQ(y[2 * width + i], rows[5 * width + i]);
    }
    EXPECT_TRUE(rest_is_poisoned(outputs[0], step)) << "the fourth id is none";
}

// A table of seven rows in parts of two, none and five.
TEST_P(EmbedTypes, GivesZerosForRowsOfOtherParts) {
    const int64_t width = dtype::padded_elements(GetParam(), 64);
    const TestTensor table = make_tensor({GetParam(), {7, width}}, 1);
    const TestTensor ids = make_ids(kIds, std::vector<int32_t>{6, 0, 1, 2});
    const TestStep step(simple_spec(4, 4));
    const TestTensor whole = run_reference(Embed{}, std::vector{table, ids}, step)[0];
    for (const auto& [begin, count] : {std::pair{0, 2}, {2, 0}, {2, 5}}) {
        const std::vector inputs{part_of(table, 0, begin, count), ids};
        const TestTensor part = run_reference(Embed{.first_row = begin}, inputs, step)[0];
        for (int64_t t = 0; t < 4; ++t) {
            const int32_t id = ids_of(ids)[static_cast<size_t>(t)];
            const TestTensor row = part_of(part, 0, t, 1);
            if (id >= begin && id < begin + count) {
                EXPECT_EQ(row.bytes, part_of(whole, 0, t, 1).bytes);
            } else {
                EXPECT_THAT(values_of(row), testing::Each(0.0f));
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Formats, EmbedTypes, testing::ValuesIn(weight_types()),
                         [](const auto& test) { return dtype::info(test.param).name; });

TEST(Embed, TakesAnyWidthOfElements) {
    const TestTensor table = make_tensor({DType::F16, {3, 1}}, std::vector<float>{1, 2, 4});
    const TestTensor ids = make_ids(kIds, std::vector<int32_t>{2, 1, 0, 2});
    const auto outputs = run_reference(Embed{}, std::vector{table, ids}, TestStep(simple_spec(4, 4)));
    EXPECT_THAT(values_of(outputs[0]), testing::ElementsAre(4, 2, 1, 4));
}

TEST(Embed, DoesNothingInAnEmptyStep) {
    const TestTensor table = make_tensor({DType::F32, {3, 5}}, 1);
    const TestTensor ids = make_poisoned(kIds);
    const TestStep step(simple_spec(4, 0));
    EXPECT_TRUE(rest_is_poisoned(run_reference(Embed{}, std::vector{table, ids}, step)[0], step));
}

TEST(Embed, SaysWhatDoesNotFit) {
    EXPECT_EQ(refusal(Embed{}, {kIds}), "embed: expected 2 operands, found 1");
    EXPECT_EQ(refusal(Embed{}, {{DType::F32, {4}}, kIds}),
              "embed: expected table as [n, width] of a weight format, found F32[4]");
    EXPECT_EQ(refusal(Embed{}, {{DType::I32, {4, 4}}, kIds}),
              "embed: expected table as [n, width] of a weight format, found I32[4, 4]");
    EXPECT_EQ(refusal(Embed{}, {{DType::Q4_0, {4, 48}}, kIds}),
              "embed: expected a table width that is a multiple of 32, found Q4_0[4, 48]");
    EXPECT_EQ(refusal(Embed{}, {{DType::F32, {4, 8}}, {DType::F32, {4}, Rows::tokens}}),
              "embed: expected ids as I32 [tokens], found F32[4]");
    EXPECT_EQ(refusal(Embed{}, {{DType::F32, {4, 8}}, kIds}), "");
}

}  // namespace
}  // namespace plait::ir::test
