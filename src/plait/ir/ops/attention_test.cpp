#include "plait/ir/ops/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "plait/ir/test_support.h"

namespace plait::ir::test {
namespace {

constexpr int64_t kCapacity = 8;
constexpr int64_t kPages = 12;
constexpr int32_t kPageTokens = 3;

TensorDesc heads_of(int64_t heads, int64_t width) {
    return {DType::F32, {kCapacity, heads, width}, Rows::tokens};
}

TensorDesc state_of(DType type, int64_t heads, int64_t width) {
    return {type, {kPages, heads, kPageTokens, width}};
}

StepSpec spec_of(std::vector<TestSequence> sequences, uint64_t page_seed = 1, int32_t window = 0) {
    return {.capacity = {kCapacity, 3, 3},
            .sequences = std::move(sequences),
            .page_tokens = kPageTokens,
            .pages = kPages,
            .max_pages_per_sequence = 4,
            .window = window,
            .page_seed = page_seed};
}

// A row of state as it is read back.
std::vector<float> state_row(const std::vector<float>& values, const TensorDesc& state, int64_t slot,
                             int64_t head) {
    const int64_t width = state.shape[3];
    const int64_t row = (slot / kPageTokens * state.shape[1] + head) * kPageTokens + slot % kPageTokens;
    return {values.begin() + row * width, values.begin() + (row + 1) * width};
}

std::vector<float> rounded(DType type, std::vector<float> row) {
    const auto width = static_cast<int64_t>(row.size());
    return values_of(make_tensor({type, {width}}, row));
}

class CacheTypes : public testing::TestWithParam<DType> {};

INSTANTIATE_TEST_SUITE_P(Formats, CacheTypes, testing::ValuesIn(cache_types()),
                         [](const auto& test) { return dtype::info(test.param).name; });

TEST_P(CacheTypes, KvWriteStoresRowsAtTheirSlots) {
    for (int64_t width : {64, 80, 1}) {
        const TensorDesc desc = state_of(GetParam(), 2, width);
        const TestTensor x = make_tensor(heads_of(2, width), 1);
        const TestTensor before = make_tensor(desc, 2);
        const TestStep step(spec_of({{0, 4}, {7, 1}}));
        const auto outputs = run_reference(KvWrite{}, std::vector{x, before}, step);
        const std::vector<float> xs = values_of(x);
        std::vector<float> expected = values_of(before);
        const std::vector<float> after = values_of(outputs[0]);
        for (int64_t t = 0; t < 5; ++t) {
            const int64_t slot = step.view().groups[0].write_slots[static_cast<size_t>(t)];
            for (int64_t head = 0; head < 2; ++head) {
                const auto begin = xs.begin() + (t * 2 + head) * width;
                const std::vector<float> row = rounded(GetParam(), {begin, begin + width});
                EXPECT_EQ(state_row(after, desc, slot, head), row);
                const int64_t place = (slot / kPageTokens * 2 + head) * kPageTokens + slot % kPageTokens;
                std::copy(row.begin(), row.end(), expected.begin() + place * width);
            }
        }
        EXPECT_EQ(after, expected) << "rows of other slots are left alone";
    }
}

TEST_P(CacheTypes, CopyPagesCopiesWholePagesOfEveryTensor) {
    const std::vector<TestTensor> before{make_tensor(state_of(GetParam(), 2, 80), 1),
                                         make_tensor(state_of(GetParam(), 1, 64), 2)};
    StepSpec spec = spec_of({});
    spec.copies = {{3, 7}, {7, 0}};  // in order: page 0 gets what page 3 held
    const auto after = run_reference(CopyPages{}, before, TestStep(spec));
    ASSERT_EQ(after.size(), 2u);
    for (size_t i = 0; i < 2; ++i) {
        const auto page = [&](const TestTensor& tensor, int64_t number) {
            const auto begin = tensor.bytes.begin() + number * tensor.desc.slice_bytes();
            return std::vector<std::byte>(begin, begin + tensor.desc.slice_bytes());
        };
        for (int64_t number = 0; number < kPages; ++number) {
            const int64_t source = number == 7 || number == 0 ? 3 : number;
            EXPECT_EQ(page(after[i], number), page(before[i], source)) << number;
        }
    }
}

// Attention of one query head to the last token's window as the formula has it: all scores, one softmax, one
// sum, in double. `k` and `v` hold the rows of the window only, the last of them the token's own.
std::vector<double> expected_attention(const Attention& op, double slope, std::optional<double> sink,
                                       const std::vector<float>& q, const std::vector<std::vector<float>>& k,
                                       const std::vector<std::vector<float>>& v) {
    std::vector<double> weights;
    for (size_t i = 0; i < k.size(); ++i) {
        double score = op.scale * std::inner_product(q.begin(), q.end(), k[i].begin(), 0.0);
        if (op.soft_cap > 0) score = op.soft_cap * std::tanh(score / op.soft_cap);
        weights.push_back(std::exp(score - slope * static_cast<double>(k.size() - 1 - i)));
    }
    const double total =
        std::accumulate(weights.begin(), weights.end(), sink.has_value() ? std::exp(*sink) : 0.0);
    std::vector<double> y(v[0].size(), 0.0);
    for (size_t position = 0; position < v.size(); ++position) {
        for (size_t i = 0; i < y.size(); ++i) y[i] += weights[position] / total * v[position][i];
    }
    return y;
}

// The rows of positions [first, count) of a sequence, through its page list.
std::vector<std::vector<float>> sequence_rows(const TestTensor& state, const TestStep& step, size_t sequence,
                                              int32_t first, int32_t count, int64_t head) {
    const SequencePages pages = step.view().groups[0].pages_of(sequence);
    const std::vector<float> values = values_of(state);
    std::vector<std::vector<float>> rows;
    for (int32_t position = first; position < count; ++position) {
        const int64_t slot = pages.at(position / kPageTokens) * kPageTokens + position % kPageTokens;
        rows.push_back(state_row(values, state.desc, slot, head));
    }
    return rows;
}

struct HeadShape {
    int64_t q_heads;
    int64_t kv_heads;
    int64_t k_width;
    int64_t v_width;
};

// Slopes of ALiBi per query head; empty: none.
using Slopes = std::vector<double>;

// Runs the op on random operands over sequences of several lengths and compares each head with the formula.
void expect_formula(const Attention& op, DType type, const HeadShape& shape, const Slopes& slopes = {},
                    const std::vector<float>& sinks = {}) {
    const std::vector<TestSequence> sequences{{0, 4}, {11, 1}, {4, 2}};
    std::vector<TestTensor> inputs{make_tensor(heads_of(shape.q_heads, shape.k_width), 1),
                                   make_tensor(state_of(type, shape.kv_heads, shape.k_width), 2),
                                   make_tensor(state_of(type, shape.kv_heads, shape.v_width), 3)};
    if (!sinks.empty()) inputs.push_back(make_tensor({DType::F32, {shape.q_heads}}, sinks));
    const TestStep step(spec_of(sequences, 1, static_cast<int32_t>(op.window)));
    const auto outputs = run_reference(op, inputs, step);
    EXPECT_EQ(outputs[0].desc, heads_of(shape.q_heads, shape.v_width));
    const std::vector<float> qs = values_of(inputs[0]);
    const std::vector<float> y = values_of(outputs[0]);
    size_t row = 0;  // of q: token by token, head by head
    for (size_t s = 0; s < sequences.size(); ++s) {
        for (int32_t i = 0; i < sequences[s].tokens; ++i) {
            const int32_t count = sequences[s].past + i + 1;
            const int32_t first = op.window == 0 ? 0 : std::max(0, count - static_cast<int32_t>(op.window));
            for (int64_t head = 0; head < shape.q_heads; ++head, ++row) {
                const int64_t kv_head = head * shape.kv_heads / shape.q_heads;
                const auto h = static_cast<size_t>(head);
                const auto q_row = qs.begin() + static_cast<int64_t>(row) * shape.k_width;
                const std::vector<double> expected = expected_attention(
                    op, slopes.empty() ? 0.0 : slopes[h],
                    sinks.empty() ? std::nullopt : std::optional<double>(sinks[h]),
                    {q_row, q_row + shape.k_width}, sequence_rows(inputs[1], step, s, first, count, kv_head),
                    sequence_rows(inputs[2], step, s, first, count, kv_head));
                for (size_t j = 0; j < expected.size(); ++j)
                    EXPECT_NEAR(y[row * expected.size() + j], expected[j], 2e-6) << s << " " << i;
            }
        }
    }
    EXPECT_TRUE(rest_is_poisoned(outputs[0], step));
}

TEST_P(CacheTypes, AttentionMatchesItsFormula) {
    for (const HeadShape& shape :
         {HeadShape{2, 2, 64, 64}, HeadShape{3, 1, 80, 80}, HeadShape{6, 2, 40, 24}, HeadShape{1, 1, 1, 1}}) {
        expect_formula({.scale = 0.3f}, GetParam(), shape);
    }
}

TEST_P(CacheTypes, AttentionWithOptionsMatchesItsFormula) {
    const HeadShape shape{4, 2, 40, 24};
    const Slopes slopes{0.25, 0.0625, 0.015625, 0.00390625};
    const Alibi alibi{.max_bias = 8.0f, .all_heads = 4};
    const std::vector<float> sinks{-2.0f, 0.0f, 1.5f, 30.0f};
    for (int64_t window : {1, 2, 3, 4, 7, 12, 100})
        expect_formula({.scale = 0.3f, .window = window}, GetParam(), shape);
    expect_formula({.scale = 2.0f, .soft_cap = 1.5f}, GetParam(), shape);
    expect_formula({.scale = 0.3f, .alibi = alibi}, GetParam(), shape, slopes);
    expect_formula({.scale = 0.3f}, GetParam(), shape, {}, sinks);
    expect_formula({.scale = 2.0f, .window = 5, .soft_cap = 1.5f, .alibi = alibi}, GetParam(), shape, slopes,
                   sinks);
}

TEST(Alibi, HalvesItsSlopesWhereHeadsAreAPowerOfTwo) {
    const Alibi alibi{.max_bias = 8.0f, .all_heads = 8};
    for (int64_t head = 0; head < 8; ++head) EXPECT_EQ(alibi.slope(head), std::exp2(-1.0f - head));
    EXPECT_EQ(Alibi{}.slope(3), 0.0f);
}

// The paper's code for 12 heads: the 8 slopes of 8 heads, then every other one of those of 16.
TEST(Alibi, FillsInBetweenOtherwise) {
    const Alibi alibi{.max_bias = 8.0f, .all_heads = 12};
    for (int64_t head = 0; head < 8; ++head) EXPECT_EQ(alibi.slope(head), std::exp2(-1.0f - head));
    for (int64_t head = 8; head < 12; ++head)
        EXPECT_FLOAT_EQ(alibi.slope(head), std::exp2(-0.5f - static_cast<float>(head - 8)));
}

// Writes a sequence of ten tokens in two steps and attends from its last three, with its pages where
// `page_seed` puts them and with `neighbours` before it in the step.
std::vector<std::byte> attend_last_three(DType type, uint64_t page_seed, std::vector<TestSequence> neighbours,
                                         const Attention& op = {.scale = 0.1f}) {
    const size_t before = neighbours.size();
    const auto step_of = [&](TestSequence sequence) {
        std::vector<TestSequence> sequences = neighbours;
        sequences.push_back(sequence);
        return spec_of(sequences, page_seed, static_cast<int32_t>(op.window));
    };
    // The sequence's own rows, behind whatever rows the neighbours take.
    const auto rows_of = [&](int64_t heads, uint64_t seed) {
        const std::vector<float> own = random_values(kCapacity * heads * 80, seed);
        std::vector<float> all(own.size(), 0.25f);
        const auto skipped = static_cast<int64_t>(before) * heads * 80;
        std::copy(own.begin(), own.end() - skipped, all.begin() + skipped);
        return make_tensor(heads_of(heads, 80), all);
    };
    TestTensor k = make_tensor(state_of(type, 2, 80), page_seed);
    TestTensor v = make_tensor(state_of(type, 2, 80), page_seed + 1);
    for (const TestSequence& part : {TestSequence{0, 5}, TestSequence{5, 2}, TestSequence{7, 3}}) {
        const TestStep step(step_of(part));
        k = run_reference(KvWrite{}, std::vector{rows_of(2, 10 + part.past), k}, step)[0];
        v = run_reference(KvWrite{}, std::vector{rows_of(2, 20 + part.past), v}, step)[0];
    }
    const TestStep step(step_of({7, 3}));
    const auto y = run_reference(op, std::vector{rows_of(6, 30), k, v}, step);
    const auto first = y[0].bytes.begin() + static_cast<int64_t>(before) * y[0].desc.slice_bytes();
    return {first, first + 3 * y[0].desc.slice_bytes()};
}

TEST_P(CacheTypes, AttentionDoesNotDependOnPagesOrNeighbours) {
    const std::vector<std::byte> expected = attend_last_three(GetParam(), 1, {});
    EXPECT_EQ(attend_last_three(GetParam(), 2, {}), expected);
    EXPECT_EQ(attend_last_three(GetParam(), 3, {{4, 1}, {0, 1}}), expected);
}

TEST_P(CacheTypes, AttentionInAWindowDoesNotDependOnPagesOrNeighbours) {
    const Attention op{.scale = 0.1f, .window = 4};
    const std::vector<std::byte> expected = attend_last_three(GetParam(), 1, {}, op);
    EXPECT_NE(expected, attend_last_three(GetParam(), 1, {}));
    EXPECT_EQ(attend_last_three(GetParam(), 2, {}, op), expected);
    EXPECT_EQ(attend_last_three(GetParam(), 3, {{4, 1}, {0, 1}}, op), expected);
}

// A run of a model's query heads, and the key/value heads they read.
struct Heads {
    int64_t first_query, queries;
    int64_t first_kv, kvs;
};

// 28 query heads on 4 key/value heads, dealt in several ways.
TEST_P(CacheTypes, AttentionOfSomeHeadsIsThatPartOfTheWhole) {
    Attention op{.scale = 2.0f, .window = 5, .soft_cap = 1.5f, .alibi = {.max_bias = 8.0f, .all_heads = 28}};
    const std::vector<TestTensor> inputs{
        make_tensor(heads_of(28, 40), 1), make_tensor(state_of(GetParam(), 4, 40), 2),
        make_tensor(state_of(GetParam(), 4, 24), 3), make_tensor({DType::F32, {28}}, 4)};
    const TestStep step(spec_of({{0, 4}, {11, 1}, {4, 2}}, 1, 5));
    const TestTensor whole = run_reference(op, inputs, step)[0];
    op.queries_per_kv = 7;
    for (const Heads& heads : {Heads{0, 9, 0, 2}, Heads{9, 9, 1, 2}, Heads{18, 10, 2, 2}, Heads{27, 1, 3, 1},
                               Heads{0, 28, 0, 4}, Heads{13, 2, 0, 4}, Heads{20, 1, 2, 2}}) {
        op.first_query_head = heads.first_query;
        op.first_kv_head = heads.first_kv;
        const std::vector<TestTensor> part{part_of(inputs[0], 1, heads.first_query, heads.queries),
                                           part_of(inputs[1], 1, heads.first_kv, heads.kvs),
                                           part_of(inputs[2], 1, heads.first_kv, heads.kvs),
                                           part_of(inputs[3], 0, heads.first_query, heads.queries)};
        EXPECT_EQ(run_reference(op, part, step)[0].bytes,
                  part_of(whole, 1, heads.first_query, heads.queries).bytes)
            << heads.first_query;
    }
}

TEST(HeadGroups, AreRunsOfNeighbours) {
    const HeadGroups whole = Attention{}.head_groups(6, 2);
    EXPECT_TRUE(whole.even(2));
    EXPECT_EQ(whole.largest(), 3);
    EXPECT_EQ(whole.begin(1), 3);
    EXPECT_EQ(whole.count(1), 3);
    const Attention op{.first_query_head = 9, .first_kv_head = 1, .queries_per_kv = 7};
    const HeadGroups part = op.head_groups(9, 2);
    EXPECT_FALSE(part.even(2));
    EXPECT_EQ(part.largest(), 7);
    EXPECT_EQ(part.begin(0), 0);
    EXPECT_EQ(part.count(0), 5);
    EXPECT_EQ(part.begin(1), 5);
    EXPECT_EQ(part.count(1), 4);
    for (int64_t head = 0; head < 9; ++head) EXPECT_EQ(part.kv_head(head), head < 5 ? 0 : 1);
}

TEST(HeadGroups, MayHaveNoReader) {
    const Attention op{.first_query_head = 5, .queries_per_kv = 4};
    const HeadGroups groups = op.head_groups(3, 4);
    const int64_t counts[] = {0, 3, 0, 0};
    for (int64_t head = 0; head < 4; ++head) EXPECT_EQ(groups.count(head), counts[head]);
    EXPECT_EQ(Attention{}.head_groups(0, 2).count(1), 0);
}

TEST(Attention, GivesAllWeightToALargeSink) {
    const TestTensor q = make_tensor(heads_of(1, 4), 1);
    const TestTensor state = make_tensor(state_of(DType::F32, 1, 4), 2);
    const TestTensor sink = make_tensor({DType::F32, {1}}, std::vector<float>{1000.0f});
    const auto y =
        run_reference(Attention{}, std::vector{q, state, state, sink}, TestStep(spec_of({{0, 8}})));
    for (float value : values_of(y[0])) EXPECT_EQ(value, 0.0f);
}

TEST(Attention, BearsLargeScores) {
    const TestTensor q = make_tensor(heads_of(1, 1), std::vector<float>(kCapacity, 1.0f));
    std::vector<float> rows(static_cast<size_t>(kPages * kPageTokens));
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = i % 2 == 0 ? 1000.0f : -1000.0f;
    const TestTensor state = make_tensor(state_of(DType::F32, 1, 1), rows);
    const auto y = run_reference(Attention{}, std::vector{q, state, state}, TestStep(spec_of({{0, 8}})));
    for (float value : values_of(y[0])) EXPECT_TRUE(std::abs(value) == 1000.0f) << value;
}

TEST(Attention, GivesTheOnlyRowToAFirstToken) {
    const TestTensor q = make_tensor(heads_of(2, 8), 1);
    const TestTensor k = make_tensor(state_of(DType::F32, 2, 8), 2);
    const TestTensor v = make_tensor(state_of(DType::F32, 2, 4), 3);
    const TestStep step(spec_of({{0, 1}}));
    const auto y = run_reference(Attention{}, std::vector{q, k, v}, step);
    for (int64_t head = 0; head < 2; ++head) {
        const std::vector<float> row = sequence_rows(v, step, 0, 0, 1, head)[0];
        const auto begin = values_of(y[0]);
        EXPECT_TRUE(std::equal(row.begin(), row.end(), begin.begin() + head * 4));
    }
}

TEST(PagedOps, DoNothingInAnEmptyStep) {
    const TestStep step(spec_of({}));
    const TestTensor q = make_poisoned(heads_of(2, 8));
    const TestTensor state = make_tensor(state_of(DType::F32, 2, 8), 1);
    EXPECT_EQ(run_reference(KvWrite{}, std::vector{q, state}, step)[0].bytes, state.bytes);
    EXPECT_EQ(run_reference(CopyPages{}, std::vector{state}, step)[0].bytes, state.bytes);
    EXPECT_TRUE(rest_is_poisoned(run_reference(Attention{}, std::vector{q, state, state}, step)[0], step));
}

TEST(PagedOpsDeathTest, NeedTheStepToHaveTheirGroup) {
    const TestTensor state = make_tensor(state_of(DType::F32, 1, 4), 1);
    const TestStep step(spec_of({}));
    EXPECT_DEATH(run_reference(CopyPages{.group = 1}, std::vector{state}, step), "state group");
}

TEST(CopyPages, SaysWhatDoesNotFit) {
    const TensorDesc state = state_of(DType::F16, 2, 8);
    EXPECT_EQ(refusal(CopyPages{}, {}), "copy_pages: expected at least 1 operands, found 0");
    EXPECT_EQ(refusal(CopyPages{}, {heads_of(2, 8)}),
              "copy_pages: expected state as [pages, heads, page_tokens, width] of a cache format, found "
              "F32[8, 2, 8]");
    EXPECT_EQ(refusal(CopyPages{}, {state, {DType::F16, {11, 2, 3, 8}}}),
              "copy_pages: expected 12 pages as the group's first tensor has, found F16[11, 2, 3, 8]");
    EXPECT_EQ(refusal(CopyPages{}, {{DType::F16, {12, 2, 257, 8}}}),
              "copy_pages: expected pages of 1 to 256 tokens, found F16[12, 2, 257, 8]");
    EXPECT_EQ(refusal(CopyPages{}, {{DType::F16, {12, 2, 16, 1025}}}),
              "copy_pages: expected heads of 1 to 1024 features, found F16[12, 2, 16, 1025]");
}

TEST(KvWrite, SaysWhatDoesNotFit) {
    const TensorDesc state = state_of(DType::F16, 2, 8);
    EXPECT_EQ(refusal(KvWrite{}, {heads_of(2, 8), state}), "");
    EXPECT_EQ(refusal(KvWrite{}, {state, state}),
              "kv_write: expected x as F32 [tokens, heads, width], found F16[12, 2, 3, 8]");
    EXPECT_EQ(refusal(KvWrite{}, {heads_of(2, 8), state_of(DType::I32, 2, 8)}),
              "kv_write: expected state as [pages, heads, page_tokens, width] of a cache format, found "
              "I32[12, 2, 3, 8]");
    EXPECT_EQ(refusal(KvWrite{}, {heads_of(3, 8), state}),
              "kv_write: expected state of 3 heads of 8 features as x has, found F16[12, 2, 3, 8]");
}

TEST(Attention, SaysWhatDoesNotFit) {
    const TensorDesc q = heads_of(6, 8);
    const TensorDesc k = state_of(DType::F16, 2, 8);
    EXPECT_EQ(refusal(Attention{}, {q, k, state_of(DType::Q8_0, 2, 16)}), "");
    EXPECT_EQ(refusal(Attention{}, {q, k}), "attention: expected 3 to 4 operands, found 2");
    EXPECT_EQ(refusal(Attention{}, {q, k, k, {DType::F32, {6}}}), "");
    EXPECT_EQ(refusal(Attention{}, {q, k, k, {DType::F32, {5}}}),
              "attention: expected sinks as F32 [6], found F32[5]");
    EXPECT_EQ(refusal(Attention{}, {q, k, k, {DType::F16, {6}}}),
              "attention: expected sinks as F32 [6], found F16[6]");
    const Alibi alibi{.max_bias = 8.0f, .all_heads = 8};
    EXPECT_EQ(refusal(Attention{.alibi = alibi, .first_query_head = 3, .first_kv_head = 1}, {q, k, k}),
              "attention: expected heads from 3 on of the model's 8, found F32[8, 6, 8]");
    EXPECT_EQ(refusal(Attention{}, {k, k, k}),
              "attention: expected q as F32 [tokens, q_heads, k_width], found F16[12, 2, 3, 8]");
    EXPECT_EQ(refusal(Attention{}, {heads_of(6, 9), k, k}),
              "attention: expected K heads of 9 features as q has, found F16[12, 2, 3, 8]");
    EXPECT_EQ(refusal(Attention{}, {q, k, state_of(DType::F16, 3, 8)}),
              "attention: expected V with pages, heads and page_tokens of K, F16[12, 2, 3, 8], found "
              "F16[12, 3, 3, 8]");
    EXPECT_EQ(
        refusal(Attention{}, {heads_of(5, 8), k, k}),
        "attention: expected query heads that are a multiple of the 2 key/value heads, found F32[8, 5, 8]");
    EXPECT_EQ(refusal(Attention{.queries_per_kv = 3}, {heads_of(5, 8), k, k}), "");
    EXPECT_EQ(
        refusal(Attention{.queries_per_kv = 2}, {heads_of(5, 8), k, k}),
        "attention: expected K with key/value heads 0 to 2 of the model, which query heads 0 to 4 read, "
        "among its heads from 0 on, found F16[12, 2, 3, 8]");
    EXPECT_EQ(
        refusal(Attention{.first_query_head = 9, .first_kv_head = 2, .queries_per_kv = 7},
                {heads_of(9, 8), k, k}),
        "attention: expected K with key/value heads 1 to 2 of the model, which query heads 9 to 17 read, "
        "among its heads from 2 on, found F16[12, 2, 3, 8]");
}

}  // namespace
}  // namespace plait::ir::test
