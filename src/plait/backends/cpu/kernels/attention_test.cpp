#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <thread>

#include "plait/backends/cpu/kernel.h"
#include "plait/backends/cpu/simd/select.h"
#include "plait/ir/test_support.h"

// Attention over pasts of many chunks: the bits of a token are its own however the work is cut, and close to
// the formula.
namespace plait::backends::cpu {
namespace {

using ir::DType;
using ir::test::StepSpec;
using ir::test::TestSequence;
using ir::test::TestStep;
using ir::test::TestTensor;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

simd::SimdLevel best_level() {
    simd::SimdLevel best = simd::SimdLevel::scalar;
    for (const simd::SimdLevel level : simd::kAllLevels)
        if (simd::has_level(level)) best = level;
    return best;
}

// A text: queries, keys and values of each position; where sequences of it lie is up to a step.
struct Text {
    ir::Attention op{.scale = 0.3f};
    int64_t q_heads = 6, kv_heads = 2, k_width = 40, v_width = 24;
    DType type = DType::F16;
    std::vector<float> sinks;
    int64_t length = 700;
    float key_size = 1.0f;

    std::vector<float> q() const { return ir::test::random_values(length * q_heads * k_width, 1); }
    std::vector<float> k() const {
        std::vector<float> rows = ir::test::random_values(length * kv_heads * k_width, 2);
        for (float& value : rows) value *= key_size;
        return rows;
    }
    std::vector<float> v() const { return ir::test::random_values(length * kv_heads * v_width, 3); }
};

// How a step is run.
struct Way {
    std::vector<TestSequence> sequences;
    int workers = 1;
    int32_t page_tokens = 64;
    uint64_t page_seed = 1;
    simd::SimdLevel level = best_level();
    int64_t nan_from = -1;  // keys and values of positions from here on are NaN
};

// Rows [position][heads][width] in the pages of all sequences. Rows of nobody are NaN where a format has it.
TestTensor paged(const TestStep& step, const Way& way, DType type, int64_t pages, int64_t heads,
                 int64_t width, const std::vector<float>& rows) {
    const ir::TensorDesc desc{type, {pages, heads, way.page_tokens, width}};
    const bool has_nan = dtype::info(type).block_elements == 1;
    std::vector<float> values(static_cast<size_t>(desc.shape.elements()), has_nan ? kNan : 0.5f);
    const ir::StepGroup& group = step.view().groups[0];
    for (size_t s = 0; s < way.sequences.size(); ++s) {
        const ir::SequencePages list = group.pages_of(s);
        for (int64_t position = 0; position < group.lengths[s]; ++position) {
            if (!list.contains(position / way.page_tokens)) continue;
            if (way.nan_from >= 0 && position >= way.nan_from) continue;
            const int64_t page = list.at(position / way.page_tokens);
            for (int64_t head = 0; head < heads; ++head) {
                const int64_t to = (page * heads + head) * way.page_tokens + position % way.page_tokens;
                std::copy_n(rows.begin() + (position * heads + head) * width, width,
                            values.begin() + to * width);
            }
        }
    }
    return ir::test::make_tensor(desc, values);
}

// The call's items in random order, taken by so many threads.
void run_items(const Kernel& kernel, const KernelCall& call, int64_t workspace_bytes, int threads) {
    std::vector<int64_t> items(static_cast<size_t>(kernel.items(call)));
    std::iota(items.begin(), items.end(), 0);
    std::ranges::shuffle(items, std::mt19937(7));
    std::atomic<size_t> next{0};
    const auto work = [&] {
        std::vector<std::byte> workspace(static_cast<size_t>(workspace_bytes));
        for (size_t i = next++; i < items.size(); i = next++) {
            std::ranges::fill(workspace, std::byte{0xFF});  // NaN
            kernel.run(call, items[i], workspace.data());
        }
    };
    std::vector<std::jthread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back(work);
    work();
}

TestTensor run_kernel(const ir::Op& op, const std::vector<TestTensor>& inputs, const TestStep& step,
                      const Way& way) {
    const simd::KernelTable& simd = simd::kernels(way.level);
    const auto list = kernel_list({.simd = &simd});
    const Kernel& kernel = *std::ranges::find_if(
        list, [](const Kernel& row) { return row.support.op == ir::op_id_of<ir::Attention>(); });
    std::vector<TestTensor> outputs = ir::test::make_outputs(op, inputs);
    std::vector<ir::TensorDesc> descs;
    std::vector<ir::Operand> operands;
    for (const TestTensor& input : inputs) {
        descs.push_back(input.desc);
        operands.push_back(input.operand());
    }
    const ir::Operand output = outputs[0].operand();
    const SharedNeeds needs = kernel.shared(op, descs, step.layout().groups(), way.workers);
    // Exactly as many bytes as were asked for, so that a sanitizer sees more being used.
    std::vector<std::byte> shared(static_cast<size_t>(needs.bytes));
    const int64_t workspace_bytes = kernel.workspace_bytes(op, descs);
    std::vector<std::atomic<int32_t>> counters(static_cast<size_t>(needs.counters));
    const KernelCall call{.op = &op,
                          .operands = {operands, {&output, 1}, &step.view()},
                          .simd = &simd,
                          .shared = shared,
                          .counters = counters,
                          .workers = way.workers};
    run_items(kernel, call, workspace_bytes, std::min(way.workers, 4));
    EXPECT_TRUE(ir::test::rest_is_poisoned(outputs[0], step));
    return std::move(outputs[0]);
}

struct Result {
    std::vector<float> kernel;
    std::vector<float> reference;
};

// Of the last sequence's tokens.
Result attend(const Text& text, const Way& way, bool with_reference = false) {
    int64_t tokens = 0, longest = 0;
    for (const TestSequence& sequence : way.sequences) {
        tokens += sequence.tokens;
        longest = std::max<int64_t>(longest, sequence.past + sequence.tokens);
    }
    StepSpec spec{.capacity = {tokens + 3, 3, 4}, .sequences = way.sequences, .page_tokens = way.page_tokens};
    spec.max_pages_per_sequence = static_cast<int32_t>(longest / way.page_tokens + 1);
    spec.pages = spec.max_pages_per_sequence * 4;
    spec.window = static_cast<int32_t>(text.op.window);
    spec.page_seed = way.page_seed;
    const TestStep step(spec);
    const std::vector<float> rows = text.q();
    std::vector<float> q(static_cast<size_t>((tokens + 3) * text.q_heads * text.k_width), kNan);
    for (int64_t token = 0; token < tokens; ++token) {
        const int64_t row = text.q_heads * text.k_width;
        const int64_t position = step.view().positions[static_cast<size_t>(token)];
        std::copy_n(rows.begin() + position * row, row, q.begin() + token * row);
    }
    std::vector<TestTensor> inputs{
        ir::test::make_tensor({DType::F32, {tokens + 3, text.q_heads, text.k_width}, ir::Rows::tokens}, q),
        paged(step, way, text.type, spec.pages, text.kv_heads, text.k_width, text.k()),
        paged(step, way, text.type, spec.pages, text.kv_heads, text.v_width, text.v())};
    if (!text.sinks.empty())
        inputs.push_back(ir::test::make_tensor({DType::F32, {text.q_heads}}, text.sinks));
    const int64_t own = way.sequences.back().tokens;
    const auto last = [&](const TestTensor& output) {
        const std::vector<float> all = values_of(ir::test::part_of(output, 0, tokens - own, own));
        return all;
    };
    Result result{last(run_kernel(text.op, inputs, step, way)), {}};
    if (with_reference) result.reference = last(ir::test::run_reference(text.op, inputs, step)[0]);
    return result;
}

int64_t row_values(const Text& text) { return text.q_heads * text.v_width; }

// Tokens `past`, `past` + 1, ... of the text as one step, against steps of every other size and shape.
void expect_same_bits(const Text& text, int32_t past, const simd::SimdLevel level = best_level()) {
    const int32_t tokens = 40;
    const Result whole = attend(text, {.sequences = {{past, tokens}}, .level = level}, true);
    EXPECT_LE(ir::test::normalised_error(whole.reference, whole.kernel), 1e-11);
    const auto expect_equal = [&](const Way& way, const char* label) {
        const std::vector<float> found = attend(text, way).kernel;
        const auto begin = whole.kernel.begin() + (way.sequences.back().past - past) * row_values(text);
        EXPECT_TRUE(std::equal(found.begin(), found.end(), begin))
            << label << " " << dtype::info(text.type).name << " " << simd::name(level) << " past " << past;
    };
    for (const int workers : {1, 4, 64}) {
        expect_equal({{{past, tokens}}, workers, 64, 5, level}, "whole");
        expect_equal({{{past + 5, 1}}, workers, 64, 2, level}, "one token");
        expect_equal({{{past + 9, 2}}, workers, 16, 3, level}, "two");
        expect_equal({{{past + 20, 7}}, workers, 3, 4, level}, "seven");
        expect_equal({{{past + 12, 1}, {31, 3}, {past + 39, 1}}, workers, 16, 6, level}, "neighbours");
        expect_equal({{{past - 20, 27}, {0, 2}, {past + 8, 30}}, workers, 64, 7, level}, "prompts");
    }
    // What later positions hold reaches nobody before them.
    if (dtype::info(text.type).block_elements == 1)
        expect_equal({{{past, tokens - 10}}, 1, 64, 5, level, past + tokens - 10}, "clean");
    Way spoilt{{{past, tokens}}, 1, 64, 5, level, past + 33};
    if (dtype::info(text.type).block_elements != 1) return;
    const std::vector<float> found = attend(text, spoilt).kernel;
    EXPECT_TRUE(std::equal(found.begin(), found.begin() + 33 * row_values(text), whole.kernel.begin()));
    EXPECT_TRUE(std::isnan(found.back()));
}

TEST(CpuAttention, BitsDoNotDependOnHowTheWorkIsCut) {
    for (const DType type : ir::test::cache_types()) expect_same_bits({.type = type}, 610);
}

TEST(CpuAttention, BitsHoldOnEveryLevel) {
    for (const simd::SimdLevel level : simd::kAllLevels)
        if (simd::has_level(level)) expect_same_bits({}, 490, level);
}

TEST(CpuAttention, BitsHoldWithEveryOption) {
    for (const int64_t window : {1, 20, 40, 256, 300})
        expect_same_bits({.op = {.scale = 0.3f, .window = window}}, 500);
    expect_same_bits({.op = {.scale = 2.0f, .soft_cap = 1.5f}}, 240);
    expect_same_bits({.op = {.scale = 0.3f, .alibi = {.max_bias = 8.0f, .all_heads = 6}}}, 500);
    expect_same_bits({.sinks = {-2.0f, 0.0f, 1.5f, 30.0f, 2.0f, 1.0f}}, 500);
    expect_same_bits(
        {.op = {.scale = 2.0f, .window = 33, .soft_cap = 1.5f, .alibi = {.max_bias = 8.0f, .all_heads = 6}},
         .sinks = {-2.0f, 0.0f, 1.5f, 30.0f, 2.0f, 1.0f}},
        500);
}

TEST(CpuAttention, BitsHoldForEveryShapeOfHeads) {
    expect_same_bits({.q_heads = 3, .kv_heads = 3, .k_width = 64, .v_width = 64}, 250);
    expect_same_bits({.q_heads = 7, .kv_heads = 1, .k_width = 32, .v_width = 128}, 250);
    expect_same_bits({.q_heads = 16, .kv_heads = 1, .k_width = 576, .v_width = 512, .length = 320}, 270);
    expect_same_bits({.op = {.scale = 0.3f, .first_query_head = 5, .queries_per_kv = 4},
                      .q_heads = 6,
                      .kv_heads = 3,
                      .type = DType::Q8_0},
                     500);
}

// The formula in double precision: all scores, one softmax, one sum.
std::vector<double> formula(const Text& text, int64_t position, int64_t head) {
    const std::vector<float> q = text.q(), k = text.k(), v = text.v();
    const int64_t kv_head = head * text.kv_heads / text.q_heads;
    std::vector<double> scores;
    for (int64_t i = 0; i <= position; ++i) {
        const auto query = q.begin() + (position * text.q_heads + head) * text.k_width;
        const auto key = k.begin() + (i * text.kv_heads + kv_head) * text.k_width;
        scores.push_back(text.op.scale * std::inner_product(query, query + text.k_width, key, 0.0));
    }
    const double most = *std::ranges::max_element(scores);
    double total = 0;
    std::vector<double> out(static_cast<size_t>(text.v_width), 0.0);
    for (int64_t i = 0; i <= position; ++i) {
        const double weight = std::exp(scores[static_cast<size_t>(i)] - most);
        total += weight;
        for (int64_t j = 0; j < text.v_width; ++j)
            out[static_cast<size_t>(j)] +=
                weight *
                static_cast<double>(v[static_cast<size_t>((i * text.kv_heads + kv_head) * text.v_width + j)]);
    }
    for (double& value : out) value /= total;
    return out;
}

// Scores of a few units, where thousands of positions matter, and of several hundred, where few do.
TEST(CpuAttention, LongPastsKeepFloatPrecision) {
    for (const float size : {1.0f, 10.0f, 200.0f}) {
        const Text text{.op = {.scale = 0.25f},
                        .q_heads = 2,
                        .kv_heads = 1,
                        .k_width = 32,
                        .v_width = 32,
                        .type = DType::F32,
                        .length = 32768,
                        .key_size = size};
        const std::vector<float> found = attend(text, {.sequences = {{32760, 8}}, .workers = 4}).kernel;
        for (const int64_t token : {0, 7}) {
            for (const int64_t head : {0, 1}) {
                const std::vector<double> expected = formula(text, 32760 + token, head);
                double error = 0, scale = 0;
                for (size_t j = 0; j < expected.size(); ++j) {
                    const double distance =
                        static_cast<double>(found[static_cast<size_t>(token * 2 + head) * 32 + j]) -
                        expected[j];
                    error += distance * distance;
                    scale += expected[j] * expected[j];
                }
                EXPECT_LE(std::sqrt(error / scale), 3e-6) << size;
            }
        }
    }
}

}  // namespace
}  // namespace plait::backends::cpu
