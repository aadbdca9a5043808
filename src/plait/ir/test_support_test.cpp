#include "plait/ir/test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

namespace plait::ir::test {
namespace {

using testing::ElementsAre;
using testing::Ge;
using testing::Lt;

std::vector<int32_t> first(std::span<const int32_t> values, int32_t count) {
    return {values.begin(), values.begin() + count};
}

TEST(RandomValues, VaryAndStayInRange) {
    const std::vector<float> values = random_values(1000, 1);
    EXPECT_THAT(values, testing::Each(testing::AllOf(Ge(-1.0f), Lt(1.0f))));
    EXPECT_GT(std::set<float>(values.begin(), values.end()).size(), 990u);
    double sum = 0;
    for (float value : values) sum += value;
    EXPECT_LT(std::abs(sum / 1000), 0.1);
    EXPECT_EQ(values, random_values(1000, 1));
    EXPECT_NE(values, random_values(1000, 2));
}

TEST(RandomIds, CoverTheirRange) {
    const std::vector<int32_t> ids = random_ids(1000, 10, 1);
    EXPECT_EQ(std::set<int32_t>(ids.begin(), ids.end()).size(), 10u);
    EXPECT_THAT(ids, testing::Each(testing::AllOf(Ge(0), Lt(10))));
}

TEST(MakeTensor, PadsRowsWithZeros) {
    const TensorDesc desc{DType::Q8_0, {2, 3}};
    const TestTensor tensor = make_tensor(desc, std::vector<float>{127, 64, -1, 0, 0, 254});
    EXPECT_EQ(tensor.bytes.size(), 68u);
    EXPECT_THAT(values_of(tensor), ElementsAre(127, 64, -1, 0, 0, 254));
    EXPECT_EQ(tensor.bytes[2 + 3], std::byte{0});
}

TEST(TestStep, PlacesSequencesInPages) {
    const StepSpec spec{.capacity = {6, 3, 3},
                        .sequences = {{0, 3}, {5, 1}},
                        .page_tokens = 2,
                        .pages = 8,
                        .max_pages_per_sequence = 4};
    const TestStep step(spec);
    const StepView& view = step.view();
    const StepGroup& group = view.groups[0];
    EXPECT_EQ(*view.token_count, 4);
    EXPECT_EQ(*view.sequence_count, 2);
    EXPECT_THAT(first(view.token_begin, 3), ElementsAre(0, 3, 4));
    EXPECT_THAT(first(view.positions, 4), ElementsAre(0, 1, 2, 5));
    EXPECT_THAT(first(group.lengths, 2), ElementsAre(3, 6));
    EXPECT_THAT(first(group.page_begin, 3), ElementsAre(0, 2, 5));
    EXPECT_EQ(*view.output_count, 2);
    EXPECT_THAT(first(view.output_rows, 2), ElementsAre(2, 3));
    // Token 2 has position 2: first row of its sequence's second page; token 3 the second row of its third.
    EXPECT_EQ(group.write_slots[2], group.pages[1] * 2);
    EXPECT_EQ(group.write_slots[3], group.pages[4] * 2 + 1);
    const std::set<int32_t> pages(group.pages.begin(), group.pages.begin() + 5);
    EXPECT_EQ(pages.size(), 5u);
    EXPECT_THAT(pages, testing::Each(testing::AllOf(Ge(0), Lt(8))));
    EXPECT_LT(view.tokens[4], 0) << "rows past the count hold no index";
}

TEST(TestStep, KeepsPagesWhenASequenceGrows) {
    StepSpec spec{.capacity = {8, 1, 1}, .sequences = {{0, 3}}, .page_tokens = 2};
    const TestStep before(spec);
    spec.sequences = {{3, 4}};
    const TestStep after(spec);
    EXPECT_EQ(first(before.view().groups[0].pages, 2), first(after.view().groups[0].pages, 2));
    spec.page_seed = 2;
    const TestStep elsewhere(spec);
    EXPECT_NE(first(elsewhere.view().groups[0].pages, 4), first(after.view().groups[0].pages, 4));
}

TEST(RestIsPoisoned, SeesAWrittenRow) {
    const TestStep step(simple_spec(4, 2));
    TestTensor tensor = make_poisoned({DType::F32, {4, 3}, Rows::tokens});
    tensor.bytes[23] = std::byte{0};  // the last byte of the second row
    EXPECT_TRUE(rest_is_poisoned(tensor, step));
    tensor.bytes[24] = std::byte{0};
    EXPECT_FALSE(rest_is_poisoned(tensor, step));
}

TEST(NormalisedError, IsRelativeAndSeesNaN) {
    const std::vector<float> expected{3, 4};
    EXPECT_EQ(normalised_error(expected, expected), 0);
    EXPECT_DOUBLE_EQ(normalised_error(expected, std::vector<float>{3, 3}), 0.04);
    EXPECT_DOUBLE_EQ(normalised_error(std::vector<float>{0}, std::vector<float>{2}), 4);
    EXPECT_EQ(normalised_error({}, {}), 0);
    EXPECT_TRUE(std::isinf(normalised_error(expected, std::vector<float>{3, NAN})));
    EXPECT_TRUE(std::isinf(normalised_error(std::vector<float>{3, NAN}, expected)));
}

TEST(PartOf, TakesIndicesOfAnyAxis) {
    const TestTensor x = make_tensor({DType::F32, {2, 3, 4}}, 1);
    const std::vector<float> values = values_of(x);
    for (int axis = 0; axis < 3; ++axis) {
        const TestTensor part = part_of(x, axis, 1, 1);
        EXPECT_EQ(part.desc.shape[axis], 1);
        std::vector<float> expected;
        for (size_t i = 0; i < values.size(); ++i) {
            const size_t index[] = {i / 12, i / 4 % 3, i % 4};
            if (index[axis] == 1) expected.push_back(values[i]);
        }
        EXPECT_EQ(values_of(part), expected);
    }
    const TestTensor blocks = make_tensor({DType::Q8_0, {2, 3, 40}}, 2);
    EXPECT_EQ(part_of(blocks, 1, 0, 3).bytes, blocks.bytes);
    EXPECT_TRUE(part_of(blocks, 0, 2, 0).bytes.empty());
}

}  // namespace
}  // namespace plait::ir::test
