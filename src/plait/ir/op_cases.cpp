#include "plait/ir/op_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

namespace plait::ir::test {
namespace {

constexpr int64_t kRows = 8;                      // capacity of most cases
constexpr int32_t kTokenCounts[] = {0, 1, 3, 8};  // none, one, some, all

// A width of at least 96 that is whole blocks.
int64_t whole_blocks(DType type) { return dtype::padded_elements(type, 96); }

TensorDesc token_rows(Shape shape, DType type = DType::F32) { return {type, shape, Rows::tokens}; }

std::shared_ptr<const TestStep> simple_step(int32_t tokens) {
    return std::make_shared<TestStep>(simple_spec(kRows, tokens));
}

// Collects cases of one op; every tensor gets a seed of its own.
class Cases {
  public:
    TestTensor random(const TensorDesc& desc) { return make_tensor(desc, ++seed_); }
    TestTensor ids(const TensorDesc& desc, int32_t below) {
        return make_ids(desc, random_ids(desc.shape.elements(), below, ++seed_));
    }
    void add(std::string_view name, const Op& op, std::vector<TestTensor> inputs,
             std::shared_ptr<const TestStep> step) {
        const std::string full_name =
            fmt::format("{} {}, {} tokens", op_name(op), name, *step->view().token_count);
        cases_.push_back({full_name, op, std::move(inputs), std::move(step)});
    }
    std::vector<OpCase> take() { return std::move(cases_); }

  private:
    std::vector<OpCase> cases_;
    uint64_t seed_ = 0;
};

void add_embed(Cases& cases) {
    for (DType type : weight_types()) {
        const TensorDesc table{type, {11, whole_blocks(type)}};
        for (int32_t tokens : kTokenCounts) {
            cases.add(table.text(), Embed{},
                      {cases.random(table), cases.ids(token_rows({kRows}, DType::I32), 11)},
                      simple_step(tokens));
        }
        cases.add(table.text() + " from row 7 on", Embed{.first_row = 7},
                  {cases.random(table), cases.ids(token_rows({kRows}, DType::I32), 25)}, simple_step(kRows));
    }
}

void add_norms(Cases& cases) {
    for (int64_t n : {1, 7, 64, 257}) {
        for (int32_t tokens : kTokenCounts) {
            const TensorDesc w{DType::F32, {n}};
            const TensorDesc x = token_rows({kRows, n});
            const TensorDesc heads = token_rows({kRows, 3, n});
            const TensorDesc w_by_head{DType::F32, {3, n}};
            cases.add(x.text(), RmsNorm{1e-5f}, {cases.random(x), cases.random(w)}, simple_step(tokens));
            cases.add(heads.text(), RmsNorm{1e-6f}, {cases.random(heads), cases.random(w)},
                      simple_step(tokens));
            cases.add(heads.text() + " by head", RmsNorm{1e-6f},
                      {cases.random(heads), cases.random(w_by_head)}, simple_step(tokens));
            cases.add(x.text(), SumSquares{}, {cases.random(x)}, simple_step(tokens));
            TestTensor sums = cases.random(token_rows({kRows, 1}));
            for (int64_t row = 0; row < kRows; ++row) {
                float& sum = sums.operand().as<float>()[row];
                sum = (sum + 1.1f) * static_cast<float>(n);
            }
            cases.add(x.text(), RmsScale{1e-5f, 3 * n}, {cases.random(x), sums, cases.random(w)},
                      simple_step(tokens));
            // Of one value nothing is left but rounding error, which no bound describes.
            if (n == 1) continue;
            cases.add(x.text(), LayerNorm{1e-5f}, {cases.random(x), cases.random(w), cases.random(w)},
                      simple_step(tokens));
            cases.add(heads.text() + " by head", LayerNorm{1e-5f},
                      {cases.random(heads), cases.random(w_by_head)}, simple_step(tokens));
        }
    }
}

std::vector<int64_t> column_counts(DType type) {
    const int64_t block = dtype::info(type).block_elements;
    if (block == 1) return {1, 33, 256, 300};
    if (block > 32) return {block, 3 * block};
    return {32, 96, 256, 288};
}

void add_matmul(Cases& cases) {
    for (DType type : weight_types()) {
        for (int64_t in : column_counts(type)) {
            for (int64_t out : {1, 17}) {
                const TensorDesc w{type, {out, in}};
                for (int32_t tokens : kTokenCounts) {
                    // A single product may all but cancel, and then no relative bound describes its error.
                    if (out == 1 && tokens == 1) continue;
                    cases.add(w.text(), Matmul{}, {cases.random(token_rows({kRows, in})), cases.random(w)},
                              simple_step(tokens));
                }
            }
        }
    }
}

void add_matmul_experts(Cases& cases) {
    for (DType type : weight_types()) {
        const int64_t width = whole_blocks(type);
        const TensorDesc w{type, {5, 9, width}};
        for (int32_t tokens : kTokenCounts) {
            const TensorDesc ids = token_rows({kRows, 3}, DType::I32);
            for (const Shape& x : {Shape{kRows, width}, Shape{kRows, 3, width}}) {
                cases.add(fmt::format("{} x {}", w.text(), x.text()), MatmulExperts{},
                          {cases.random(token_rows(x)), cases.random(w), cases.ids(ids, 5)},
                          simple_step(tokens));
                cases.add(fmt::format("from 2 on, {} x {}", w.text(), x.text()), MatmulExperts{2},
                          {cases.random(token_rows(x)), cases.random(w), cases.ids(ids, 9)},
                          simple_step(tokens));
            }
        }
    }
}

void add_elementwise(Cases& cases) {
    for (int64_t n : {1, 37, 256}) {
        const TensorDesc x = token_rows({kRows, n});
        const TensorDesc slots = token_rows({kRows, 3, n});
        for (int32_t tokens : kTokenCounts) {
            const auto step = simple_step(tokens);
            cases.add(x.text(), Add{}, {cases.random(x), cases.random(x)}, step);
            cases.add(x.text() + " and bias", Add{}, {cases.random(x), cases.random({DType::F32, {n}})},
                      step);
            for (Reduction reduction : kReductions) {
                for (const TensorDesc& desc : {x, slots})
                    cases.add(fmt::format("{} {}", reduction_name(reduction), desc.text()),
                              Combine{reduction}, {cases.random(desc), cases.random(desc)}, step);
            }
            for (const auto& [desc, factor] : {std::pair{x, 0.22f}, {slots, -12.0f}})
                cases.add(desc.text(), Scale{factor}, {cases.random(desc)}, step);
            cases.add(x.text(), SoftCap{0.4f}, {cases.random(x)}, step);
            cases.add(slots.text(), ClampedSwiglu{.limit = 0.6f, .alpha = 1.702f},
                      {cases.random(slots), cases.random(slots)}, step);
            cases.add(slots.text(), Clamp{0.5f}, {cases.random(slots)}, step);
            for (Activation activation : kActivations) {
                const char* name = activation_name(activation);
                cases.add(fmt::format("{} {}", name, x.text()), Activate{activation}, {cases.random(x)},
                          step);
                cases.add(fmt::format("{} {}", name, slots.text()), GatedActivate{activation},
                          {cases.random(slots), cases.random(slots)}, step);
            }
        }
    }
}

void add_rows(Cases& cases) {
    const TensorDesc x = token_rows({kRows, 37});
    for (int32_t tokens : kTokenCounts) {
        cases.add("5 from 0", Slice{0, 5}, {cases.random(x)}, simple_step(tokens));
        cases.add("18 from 19", Slice{19, 18}, {cases.random(x)}, simple_step(tokens));
    }
    for (int32_t tokens : kTokenCounts) {
        const auto step = simple_step(tokens);
        const TensorDesc heads = token_rows({kRows, 3, 32});
        for (const TensorDesc& desc :
             {x, heads, TensorDesc{DType::F32, {1, 37}, Rows::outputs}, TensorDesc{DType::F32, {5, 37}}})
            cases.add(desc.text(), Zeros{desc.shape, desc.rows}, {}, step);
        for (const Pad& op : {Pad{0, 3}, Pad{27, 0}, Pad{5, 22}}) {
            const std::string name = fmt::format("{} and {} around", op.before, op.after);
            cases.add(fmt::format("{} {}", name, x.text()), op, {cases.random(x)}, step);
            cases.add(fmt::format("{} {}", name, heads.text()), op, {cases.random(heads)}, step);
        }
        cases.add("one", Concat{}, {cases.random(x)}, step);
        cases.add(
            "three", Concat{},
            {cases.random(x), cases.random(token_rows({kRows, 1})), cases.random(token_rows({kRows, 90}))},
            step);
    }
    for (const std::vector<int32_t>& rows : {std::vector<int32_t>{6}, {0, 6, 6}, {5, 4, 3, 2}}) {
        StepSpec spec = simple_spec(kRows, 7);
        spec.capacity.outputs = 4;
        spec.output_rows = rows;
        const auto step = std::make_shared<TestStep>(spec);
        const TestTensor wanted = make_ids({DType::I32, {4}, Rows::outputs}, step->view().output_rows);
        cases.add(fmt::format("{} of", rows.size()), GatherRows{}, {cases.random(x), wanted}, step);
    }
}

std::vector<std::pair<std::string, RopeAngles>> rope_scalings() {
    RopeAngles plain{.dims = 20};
    RopeAngles linear{.dims = 64, .base = 500000.0f, .scaling = RopeScaling::linear, .factor = 4.0f};
    RopeAngles yarn{.dims = 64,
                    .base = 1000000.0f,
                    .scaling = RopeScaling::yarn,
                    .factor = 8.0f,
                    .attention_factor = 0.9f,
                    .original_context = 4096};
    return {{"plain", plain}, {"linear", linear}, {"yarn", yarn}};
}

void add_rope(Cases& cases) {
    for (const auto& [name, op] : rope_scalings()) {
        for (int32_t tokens : kTokenCounts) {
            const TestTensor positions = cases.ids(token_rows({kRows}, DType::I32), 4000);
            std::vector<float> divisors = random_values(op.dims / 2, 5);
            for (float& divisor : divisors) divisor += 2.0f;
            cases.add(name, op, {positions}, simple_step(tokens));
            cases.add(name + " divided", op, {positions, make_tensor({DType::F32, {op.dims / 2}}, divisors)},
                      simple_step(tokens));
        }
    }
    for (RopePairs pairs : {RopePairs::adjacent, RopePairs::halves}) {
        const char* name = pairs == RopePairs::adjacent ? "adjacent" : "halves";
        for (int64_t half : {1, 10, 13}) {
            for (int32_t tokens : kTokenCounts) {
                cases.add(
                    fmt::format("{} {} of 26", name, 2 * half), Rope{pairs},
                    {cases.random(token_rows({kRows, 3, 26})), cases.random(token_rows({kRows, half, 2}))},
                    simple_step(tokens));
            }
        }
    }
}

void add_copy_pages(Cases& cases) {
    for (DType type : cache_types()) {
        const TensorDesc k{type, {6, 2, 4, 40}};
        const TensorDesc v{type, {6, 2, 4, 24}};
        for (const std::vector<PageCopy>& copies : {std::vector<PageCopy>{}, {{5, 0}}, {{1, 3}, {3, 4}}}) {
            const StepSpec spec{
                .capacity = {kRows, 3, 3}, .pages = 6, .max_pages_per_sequence = 2, .copies = copies};
            cases.add(fmt::format("{} of {}", copies.size(), k.text()), CopyPages{},
                      {cases.random(k), cases.random(v)}, std::make_shared<TestStep>(spec));
        }
    }
}

struct SequencesCase {
    const char* name;
    std::vector<TestSequence> sequences;
};

// Steps over pages of `page_tokens`, four of them per sequence at most.
std::vector<SequencesCase> sequence_cases() {
    return {{"nothing", {}},
            {"one first token", {{0, 1}}},
            {"one later token", {{9, 1}}},
            {"a prompt", {{0, 8}}},
            {"a prompt and two later tokens", {{0, 5}, {11, 1}, {3, 2}}}};
}

StepSpec sequences_spec(const SequencesCase& sequences, int32_t page_tokens, int32_t window = 0) {
    return {.capacity = {kRows, 3, 3},
            .sequences = sequences.sequences,
            .page_tokens = page_tokens,
            .pages = 12,
            .max_pages_per_sequence = 4,
            .window = window};
}

void add_kv_write(Cases& cases) {
    for (DType type : cache_types()) {
        for (int64_t width : {64, 80}) {
            for (const SequencesCase& sequences : sequence_cases()) {
                const TensorDesc state{type, {12, 2, 3, width}};
                cases.add(fmt::format("{} {}", state.text(), sequences.name), KvWrite{},
                          {cases.random(token_rows({kRows, 2, width})), cases.random(state)},
                          std::make_shared<TestStep>(sequences_spec(sequences, 3)));
            }
        }
    }
}

struct AttentionShape {
    int64_t q_heads;
    int64_t kv_heads;
    int64_t k_width;
    int64_t v_width;
};

void add_attention(Cases& cases) {
    for (DType type : cache_types()) {
        for (const AttentionShape& shape :
             {AttentionShape{2, 2, 64, 64}, AttentionShape{6, 2, 80, 80}, AttentionShape{3, 1, 40, 24}}) {
            const TensorDesc q = token_rows({kRows, shape.q_heads, shape.k_width});
            const TensorDesc k{type, {12, shape.kv_heads, 3, shape.k_width}};
            const TensorDesc v{type, {12, shape.kv_heads, 3, shape.v_width}};
            const Attention op{.scale = 1.0f / std::sqrt(static_cast<float>(shape.k_width))};
            for (const SequencesCase& sequences : sequence_cases()) {
                cases.add(fmt::format("{} heads, K {}, {}", shape.q_heads, k.text(), sequences.name), op,
                          {cases.random(q), cases.random(k), cases.random(v)},
                          std::make_shared<TestStep>(sequences_spec(sequences, 3)));
            }
        }
    }
}

struct AttentionPart {
    int64_t q_heads;
    int64_t kv_heads;
    Attention op;
};

// A member's part of the heads: in groups that are cut, or have no reader.
void add_attention_parts(Cases& cases) {
    const AttentionPart parts[] = {{9, 2, {.first_query_head = 9, .first_kv_head = 1, .queries_per_kv = 7}},
                                   {5, 2, {.first_query_head = 6, .first_kv_head = 2, .queries_per_kv = 3}},
                                   {1, 1, {.first_query_head = 13, .first_kv_head = 4, .queries_per_kv = 3}},
                                   {3, 4, {.first_query_head = 5, .first_kv_head = 0, .queries_per_kv = 4}}};
    for (DType type : cache_types()) {
        for (AttentionPart part : parts) {
            part.op.scale = 0.2f;
            const TensorDesc q = token_rows({kRows, part.q_heads, 40});
            const TensorDesc k{type, {12, part.kv_heads, 3, 40}}, v{type, {12, part.kv_heads, 3, 24}};
            for (const SequencesCase& sequences : sequence_cases()) {
                cases.add(fmt::format("heads from {} on, K {}, {}", part.op.first_query_head, k.text(),
                                      sequences.name),
                          part.op, {cases.random(q), cases.random(k), cases.random(v)},
                          std::make_shared<TestStep>(sequences_spec(sequences, 3)));
            }
        }
    }
}

struct AttentionOptions {
    const char* name;
    Attention op;
    bool sinks = false;
};

std::vector<AttentionOptions> attention_options() {
    const Alibi alibi{.max_bias = 8.0f, .all_heads = 12};
    return {{"window 1", {.scale = 0.4f, .window = 1}},
            {"window 4", {.scale = 0.4f, .window = 4}},
            {"window 6", {.scale = 0.4f, .window = 6}},
            {"soft cap", {.scale = 2.0f, .soft_cap = 1.5f}},
            {"alibi", {.scale = 0.4f, .alibi = alibi, .first_query_head = 3, .first_kv_head = 1}},
            {"sinks", {.scale = 0.4f}, true},
            {"everything", {.scale = 2.0f, .window = 5, .soft_cap = 1.5f, .alibi = alibi}, true},
            {"everything of uneven groups",
             {.scale = 2.0f,
              .window = 5,
              .soft_cap = 1.5f,
              .alibi = alibi,
              .first_query_head = 6,
              .first_kv_head = 1,
              .queries_per_kv = 4},
             true}};
}

void add_attention_options(Cases& cases) {
    const TensorDesc q = token_rows({kRows, 6, 40});
    const TensorDesc k{DType::F16, {12, 2, 3, 40}};
    const TensorDesc sinks{DType::F32, {6}};
    for (const AttentionOptions& options : attention_options()) {
        const auto window = static_cast<int32_t>(options.op.window);
        for (const SequencesCase& sequences : sequence_cases()) {
            std::vector<TestTensor> inputs{cases.random(q), cases.random(k), cases.random(k)};
            if (options.sinks) inputs.push_back(cases.random(sinks));
            cases.add(fmt::format("{}, {}", options.name, sequences.name), options.op, std::move(inputs),
                      std::make_shared<TestStep>(sequences_spec(sequences, 3, window)));
        }
    }
}

void add_experts(Cases& cases) {
    for (int64_t experts : {1, 8, 61}) {
        for (int64_t used : {1, 4, 8}) {
            if (used > experts) continue;
            for (int32_t tokens : kTokenCounts) {
                for (bool renormalise : {false, true}) {
                    cases.add(fmt::format("{} of {}{}", used, experts, renormalise ? ", renormalised" : ""),
                              TopKExperts{used, renormalise, 1.5f},
                              {cases.random(token_rows({kRows, experts}))}, simple_step(tokens));
                }
            }
        }
    }
    for (int64_t used : {1, 5}) {
        for (int32_t tokens : kTokenCounts) {
            const TensorDesc x = token_rows({kRows, used, 37});
            cases.add(x.text(), AddExpertBias{},
                      {cases.random(x), cases.random({DType::F32, {5, 37}}),
                       cases.ids(token_rows({kRows, used}, DType::I32), 5)},
                      simple_step(tokens));
            cases.add("from 2 on, " + x.text(), AddExpertBias{2},
                      {cases.random(x), cases.random({DType::F32, {5, 37}}),
                       cases.ids(token_rows({kRows, used}, DType::I32), 9)},
                      simple_step(tokens));
            cases.add(x.text(), WeightedSum{}, {cases.random(x), cases.random(token_rows({kRows, used}))},
                      simple_step(tokens));
        }
    }
}

// --- choices

constexpr int64_t kChoices = 4;  // capacity

// Every kind of question, in turn.
choice::Ask ask_of(int64_t number, int64_t count) {
    choice::Ask ask{.key = {.seed = 11, .sequence = 2, .position = 5 + number},
                    .penalty = {.repeat = 1.3, .presence = 0.2, .frequency = 0.1},
                    .temperature = 0.7};
    if (number % 4 != 3) ask.top = static_cast<int32_t>(number % 2 == 0 ? count : 1);
    ask.sum = static_cast<int16_t>(number % 4 >= 2);
    ask.drawn = static_cast<int16_t>(number % 2);
    return ask;
}

// Biases, masks and tokens seen, beyond the row too.
std::vector<choice::Change> changes_of(int64_t number, int64_t vocabulary, uint64_t seed) {
    std::vector<choice::Change> changes;
    const std::vector<int32_t> ids = random_ids(40, static_cast<int32_t>(vocabulary), seed);
    for (const int32_t id : ids)
        changes.push_back(
            {.id = id, .count = id % 3, .bias = id % 5 == 0 ? -INFINITY : 0.25f * float(id % 7)});
    std::ranges::sort(changes, {}, &choice::Change::id);
    const auto [first, last] = std::ranges::unique(changes, {}, &choice::Change::id);
    changes.erase(first, last);
    if (number % 3 == 0) changes.clear();
    return changes;
}

std::shared_ptr<const TestStep> choosing_step(int32_t rows, int64_t first, int64_t count,
                                              int64_t vocabulary) {
    StepSpec spec{.capacity = {kChoices, kChoices, kChoices, kChoices}};
    for (int32_t row = 0; row < rows; ++row) {
        spec.sequences.push_back({});
        const auto number = first + row;
        spec.choices.push_back(
            {ask_of(number, count), changes_of(number, vocabulary, static_cast<uint64_t>(number))});
    }
    return std::make_shared<TestStep>(spec);
}

void add_sample_candidates(Cases& cases) {
    int64_t first = 0;
    for (const int64_t vocabulary : {1, 65, 300, 26000}) {
        for (const int64_t count : {1, 8, 300}) {
            for (const int32_t rows : {0, 1, 2, 4}) {
                const TensorDesc logits{DType::F32, {kChoices, vocabulary}, Rows::outputs};
                const SampleCandidates op{.count = count, .vocab_begin = rows == 2 ? 7 : 0};
                cases.add(fmt::format("{} of {}", count, logits.text()), op, {cases.random(logits)},
                          choosing_step(rows, first++, count, vocabulary + op.vocab_begin));
            }
        }
    }
}

TestTensor first_rows(const TestTensor& tensor, int64_t rows) {
    TestTensor part = tensor;
    part.desc.shape[0] = rows;
    part.bytes.resize(static_cast<size_t>(rows * tensor.desc.slice_bytes()));
    return part;
}

std::string output_difference(const TestTensor& expected, const TestTensor& actual, const TestStep& step,
                              double error_bound) {
    if (!(expected.desc == actual.desc)) {
        return fmt::format("{} instead of {}", actual.desc.text(), expected.desc.text());
    }
    if (!rest_is_poisoned(actual, step)) return "rows past the count were written";
    const int64_t rows = actual_rows(expected, step);
    const TestTensor wanted = first_rows(expected, rows);
    const TestTensor found = first_rows(actual, rows);
    if (expected.desc.type == DType::I32) return ids_of(wanted) == ids_of(found) ? "" : "other ids";
    const double error = normalised_error(values_of(wanted), values_of(found));
    return error <= error_bound ? "" : fmt::format("error {:.3g} above {:.3g}", error, error_bound);
}

}  // namespace

std::vector<OpCase> op_cases() {
    Cases cases;
    add_embed(cases);
    add_norms(cases);
    add_matmul(cases);
    add_matmul_experts(cases);
    add_elementwise(cases);
    add_rows(cases);
    add_rope(cases);
    add_copy_pages(cases);
    add_kv_write(cases);
    add_attention(cases);
    add_attention_parts(cases);
    add_attention_options(cases);
    add_experts(cases);
    add_sample_candidates(cases);
    return cases.take();
}

std::string difference(const OpCase& op_case, const std::vector<TestTensor>& expected,
                       const std::vector<TestTensor>& actual, double error_bound) {
    if (expected.size() != actual.size()) return fmt::format("{}: {} outputs", op_case.name, actual.size());
    for (size_t i = 0; i < expected.size(); ++i) {
        const std::string found = output_difference(expected[i], actual[i], *op_case.step, error_bound);
        if (!found.empty()) return fmt::format("{}: output {}: {}", op_case.name, i, found);
    }
    return {};
}

}  // namespace plait::ir::test
