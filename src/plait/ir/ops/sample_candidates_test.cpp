#include "plait/ir/ops/sample_candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plait/ir/ops/shard_rules.h"
#include "plait/ir/test_support.h"

namespace plait::ir::test {
namespace {

TensorDesc logits_of(int64_t rows, int64_t ids) { return {DType::F32, {rows, ids}, Rows::outputs}; }

struct Answered {
    std::vector<TestTensor> outputs;
    SampleCandidates op;

    choice::Slice row(int64_t row) const { return op.answer(outputs[0].operand(), row); }
};

Answered run(const SampleCandidates& op, const std::vector<float>& logits,
             const std::vector<TestChoice>& choices, int64_t capacity) {
    StepSpec spec{.capacity = {capacity, capacity, capacity, capacity}, .choices = choices};
    spec.sequences.resize(choices.size());
    const TestStep step(spec);
    const auto ids = static_cast<int64_t>(logits.size()) / capacity;
    const std::vector inputs{make_tensor(logits_of(capacity, ids), logits)};
    return {run_reference(op, inputs, step), op};
}

TEST(SampleCandidates, ListsTheBestByGlobalId) {
    const auto answered =
        run({.count = 3, .vocab_begin = 100}, {1, 5, 2, 5, 4}, {{.ask = {.top = 3}, .changes = {}}}, 1);
    const choice::Slice answer = answered.row(0);
    ASSERT_EQ(answer.head().found, 3);
    EXPECT_EQ(answer.candidates()[0], (choice::Candidate{101, 5}));
    EXPECT_EQ(answer.candidates()[1], (choice::Candidate{103, 5}));
    EXPECT_EQ(answer.candidates()[2], (choice::Candidate{104, 4}));
    EXPECT_EQ(answer.head().complete, 0);
    EXPECT_EQ(answer.head().drawn_id, -1);
    EXPECT_EQ(answer.head().sum.total(), 0);
}

TEST(SampleCandidates, EveryRowIsAskedForItself) {
    const std::vector<TestChoice> choices{
        {.ask = {.top = 1}, .changes = {{.id = 1, .bias = -9}}},
        {.ask = {.sum = 1}, .changes = {}},
        {.ask = {.temperature = 1e-9, .drawn = 1}, .changes = {{.id = 0, .bias = 9}}},
    };
    const auto answered = run({.count = 2}, {1, 2, 1, 1, 1, 2, 3, 3}, choices, 4);
    EXPECT_EQ(answered.row(0).candidates()[0], (choice::Candidate{0, 1}));
    const choice::ExpSum& sum = answered.row(1).head().sum;
    EXPECT_EQ(sum.term(1) * 2, sum.total());
    EXPECT_EQ(answered.row(2).head().drawn_id, 0);
    EXPECT_NEAR(answered.row(2).head().drawn_value, 10, 1e-6);
    for (int64_t i = 3 * answered.op.answer_values(); i < 4 * answered.op.answer_values(); ++i)
        ASSERT_EQ(ids_of(answered.outputs[0])[static_cast<size_t>(i)], static_cast<int32_t>(0xA5A5A5A5));
}

TEST(SampleCandidates, SaysThatLogitsAreBroken) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const auto answered =
        run({.count = 2}, {1, nan, 2, 1, nan, 2}, {{.ask = {.top = 2}, .changes = {}}, {}}, 2);
    EXPECT_EQ(answered.row(0).head().broken, 1);
    EXPECT_EQ(answered.row(0).head().found, 0);
    EXPECT_EQ(answered.row(1).head().broken, 0) << "nothing was asked of it";
}

TEST(SampleCandidates, RefusesWhatAreNoLogits) {
    const SampleCandidates op{.count = 4};
    EXPECT_EQ(refusal(op, {logits_of(2, 9)}), "");
    EXPECT_THAT(refusal(op, {{DType::F32, {2, 9}, Rows::tokens}}),
                testing::HasSubstr("logits as F32 [outputs, n]"));
    EXPECT_THAT(refusal(op, {{DType::F32, {2, 9, 1}, Rows::outputs}}), testing::HasSubstr("expected logits"));
    EXPECT_THAT(refusal(op, {{DType::I32, {2, 9}, Rows::outputs}}), testing::HasSubstr("expected logits"));
    EXPECT_THAT(refusal(op, {}), testing::HasSubstr("expected 1 operands"));
}

// --- how members run it

TEST(SampleCandidates, MembersAnswerForTheirIds) {
    const TensorDesc logits = logits_of(2, 10);
    const Layout layout = Layout::split(1, 10, {{0, 4}, {4, 4}, {4, 10}});
    const auto answer = op_shard(SampleCandidates{.count = 4},
                                 {.inputs = {&logits, 1}, .layouts = {&layout, 1}, .members = 3});
    const int64_t values = SampleCandidates{.count = 4}.answer_values();
    ASSERT_EQ(answer.outputs.size(), 1u);
    EXPECT_EQ(answer.outputs[0],
              Layout::split(1, 2 * values, {{0, values}, {values, values}, {values, 2 * values}}));
    ASSERT_EQ(answer.ops.size(), 3u);
    EXPECT_EQ(std::get<SampleCandidates>(answer.ops[2]), (SampleCandidates{.count = 4, .vocab_begin = 4}));
}

TEST(SampleCandidates, MembersNeedWholeLogitsOrSlicesOfTheirOwn) {
    const TensorDesc logits = logits_of(2, 10);
    const auto answer = [&](const Layout& layout) {
        return op_shard(SampleCandidates{.count = 4},
                        {.inputs = {&logits, 1}, .layouts = {&layout, 1}, .members = 2});
    };
    EXPECT_EQ(answer(Layout::partial()).whole, 0u);
    for (const Layout& layout :
         {Layout::split(0, 2, {{0, 1}, {1, 2}}), Layout::split(1, 10, {{0, 6}, {5, 10}})})
        EXPECT_THAT(answer(layout).refusal, testing::HasSubstr("no two the same id")) << layout.text();
}

}  // namespace
}  // namespace plait::ir::test
