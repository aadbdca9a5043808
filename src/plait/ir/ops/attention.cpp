#include "plait/ir/ops/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "plait/base/ensure.h"
#include "plait/ir/ops/shard_rules.h"

namespace plait::ir {
namespace {

constexpr const char* kCopyPages = "copy_pages";
constexpr const char* kKvWrite = "kv_write";
constexpr const char* kAttention = "attention";

// What the references keep on their stacks: one decoded head row and the scores of one page.
constexpr int64_t kMaxWidth = 1024;
constexpr int64_t kMaxPageTokens = 256;

void expect_state(const char* op, const TensorDesc& state) {
    expect_shape(dtype::is_cache_format(state.type) && state.shape.rank() == 4 && state.rows == Rows::fixed,
                 op, "state as [pages, heads, page_tokens, width] of a cache format", state);
    expect_shape(state.shape[2] > 0 && state.shape[2] <= kMaxPageTokens, op,
                 fmt::format("pages of 1 to {} tokens", kMaxPageTokens), state);
    expect_shape(state.shape[3] > 0 && state.shape[3] <= kMaxWidth, op,
                 fmt::format("heads of 1 to {} features", kMaxWidth), state);
}

std::vector<TensorDesc> infer_copy_pages(const CopyPages&, std::span<const TensorDesc> inputs) {
    expect_input_count(kCopyPages, inputs, 1, kAnyCount);
    for (const TensorDesc& state : inputs) {
        expect_state(kCopyPages, state);
        expect_shape(state.shape[0] == inputs[0].shape[0], kCopyPages,
                     fmt::format("{} pages as the group's first tensor has", inputs[0].shape[0]), state);
    }
    return {inputs.begin(), inputs.end()};
}

std::vector<TensorDesc> infer_kv_write(const KvWrite&, std::span<const TensorDesc> inputs) {
    expect_input_count(kKvWrite, inputs, 2, 2);
    const TensorDesc& x = inputs[0];
    const TensorDesc& state = inputs[1];
    expect_shape(x.type == DType::F32 && x.shape.rank() == 3 && x.rows == Rows::tokens, kKvWrite,
                 "x as F32 [tokens, heads, width]", x);
    expect_state(kKvWrite, state);
    expect_shape(state.shape[1] == x.shape[1] && state.shape[3] == x.shape[2], kKvWrite,
                 fmt::format("state of {} heads of {} features as x has", x.shape[1], x.shape[2]), state);
    return {state};
}

// Every query head reads a key/value head that is there.
void expect_groups(const Attention& op, const TensorDesc& q, const TensorDesc& k) {
    const int64_t q_heads = q.shape[1], kv_heads = k.shape[1];
    expect_shape(kv_heads > 0 && (op.queries_per_kv > 0 || q_heads % kv_heads == 0), kAttention,
                 fmt::format("query heads that are a multiple of the {} key/value heads", kv_heads), q);
    const int64_t size = op.queries_per_kv > 0 ? op.queries_per_kv : q_heads / kv_heads;
    if (q_heads == 0) return;
    const int64_t last_query_head = op.first_query_head + q_heads - 1;
    const int64_t first = op.first_query_head / size, last = last_query_head / size;
    expect_shape(op.first_kv_head <= first && last < op.first_kv_head + kv_heads, kAttention,
                 fmt::format("K with key/value heads {} to {} of the model, which query heads {} to {} read, "
                             "among its heads from {} on",
                             first, last, op.first_query_head, last_query_head, op.first_kv_head),
                 k);
}

std::vector<TensorDesc> infer_attention(const Attention& op, std::span<const TensorDesc> inputs) {
    ENSURE(op.window >= 0 && op.soft_cap >= 0.0f && op.alibi.max_bias >= 0.0f, "options of attention");
    ENSURE(op.first_query_head >= 0 && op.first_kv_head >= 0 && op.queries_per_kv >= 0, "heads of attention");
    expect_input_count(kAttention, inputs, 3, 4);
    const TensorDesc& q = inputs[0];
    const TensorDesc& k = inputs[1];
    const TensorDesc& v = inputs[2];
    expect_shape(q.type == DType::F32 && q.shape.rank() == 3 && q.rows == Rows::tokens, kAttention,
                 "q as F32 [tokens, q_heads, k_width]", q);
    expect_state(kAttention, k);
    expect_state(kAttention, v);
    expect_shape(k.shape[3] == q.shape[2], kAttention,
                 fmt::format("K heads of {} features as q has", q.shape[2]), k);
    expect_shape(v.shape[0] == k.shape[0] && v.shape[1] == k.shape[1] && v.shape[2] == k.shape[2], kAttention,
                 fmt::format("V with pages, heads and page_tokens of K, {}", k.text()), v);
    expect_groups(op, q, k);
    if (op.alibi.max_bias > 0.0f) {
        expect_shape(
            op.first_query_head + q.shape[1] <= op.alibi.all_heads, kAttention,
            fmt::format("heads from {} on of the model's {}", op.first_query_head, op.alibi.all_heads), q);
    }
    if (inputs.size() == 4) {
        expect_shape(inputs[3] == TensorDesc{DType::F32, {q.shape[1]}}, kAttention,
                     fmt::format("sinks as F32 [{}]", q.shape[1]), inputs[3]);
    }
    return {{DType::F32, {q.shape[0], q.shape[1], v.shape[3]}, q.rows}};
}

const StepGroup& step_group(const Call& call, int32_t group) {
    ENSURE(group >= 0 && static_cast<size_t>(group) < call.step->groups.size(),
           "the step has the op's state group");
    return call.step->groups[static_cast<size_t>(group)];
}

// A state tensor by page, head and offset within the page.
class PagedState {
  public:
    explicit PagedState(const Operand& state)
        : state_(state),
          format_(dtype::info(state.desc.type)),
          padded_width_(dtype::padded_elements(state.desc.type, width())) {}

    int64_t heads() const { return state_.desc.shape[1]; }
    int64_t page_tokens() const { return state_.desc.shape[2]; }
    int64_t width() const { return state_.desc.shape[3]; }

    // `values` has room for a width rounded up to whole blocks.
    void load(int64_t page, int64_t head, int64_t offset, float* values) const {
        format_.decode(row(page, head, offset), values, padded_width_);
    }
    void store(int64_t page, int64_t head, int64_t offset, const float* values) const {
        float padded[kMaxWidth];
        std::copy_n(values, width(), padded);
        std::fill(padded + width(), padded + padded_width_, 0.0f);
        format_.encode(padded, row(page, head, offset), padded_width_);
    }

  private:
    std::byte* row(int64_t page, int64_t head, int64_t offset) const {
        DEBUG_ENSURE(page >= 0 && page < state_.desc.shape[0], "a page lies within the state");
        return state_.row((page * heads() + head) * page_tokens() + offset);
    }

    const Operand& state_;
    const dtype::DTypeInfo& format_;
    int64_t padded_width_;
};

void copy_pages(const CopyPages& op, const Call& call) {
    const StepGroup& group = step_group(call, op.group);
    for (const Operand& state : call.outputs) {
        const auto page_bytes = static_cast<size_t>(state.desc.slice_bytes());
        for (size_t i = 0; i < static_cast<size_t>(*group.copy_count); ++i) {
            const auto from = static_cast<size_t>(group.copy_from[i]);
            const auto to = static_cast<size_t>(group.copy_to[i]);
            DEBUG_ENSURE(from != to, "a page is not copied onto itself");
            std::memcpy(state.data + to * page_bytes, state.data + from * page_bytes, page_bytes);
        }
    }
}

void kv_write(const KvWrite& op, const Call& call) {
    const Operand& x = call.inputs[0];
    const PagedState state(call.outputs[0]);
    const StepGroup& group = step_group(call, op.group);
    for (int64_t t = 0; t < call.rows(x); ++t) {
        const int64_t slot = group.write_slots[static_cast<size_t>(t)];
        for (int64_t h = 0; h < state.heads(); ++h) {
            const float* values = x.as<float>() + (t * state.heads() + h) * state.width();
            state.store(slot / state.page_tokens(), h, slot % state.page_tokens(), values);
        }
    }
}

// The softmax-weighted sum of the V rows seen so far, for one query head. `sum_[i] / weight_` is the result;
// all weights are relative to the largest score so far. A sink is a score that is there from the beginning,
// with nothing to add to the sum.
class RunningAverage {
  public:
    RunningAverage(float* sum, int64_t width, const float* sink)
        : sum_(sum),
          width_(width),
          weight_(sink == nullptr ? 0.0f : 1.0f),
          maximum_(sink == nullptr ? -std::numeric_limits<float>::infinity() : *sink) {
        std::fill_n(sum, width, 0.0f);
    }

    // Before rows whose largest score is `score`.
    void raise_maximum(float score) {
        const float maximum = std::max(maximum_, score);
        const float shrink = std::exp(maximum_ - maximum);  // 0 the first time, 1 while the maximum stays
        weight_ *= shrink;
        for (int64_t i = 0; i < width_; ++i) sum_[i] *= shrink;
        maximum_ = maximum;
    }
    void add(float score, const float* row) {
        const float weight = std::exp(score - maximum_);
        weight_ += weight;
        for (int64_t i = 0; i < width_; ++i) sum_[i] += weight * row[i];
    }
    void finish() {
        for (int64_t i = 0; i < width_; ++i) sum_[i] /= weight_;
    }

  private:
    float* sum_;
    int64_t width_;
    float weight_;
    float maximum_;
};

float dot(const float* a, const float* b, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * b[i];
    return static_cast<float>(sum);
}

// One query head of one token: what it reads.
struct Query {
    const float* q;
    const float* sink;  // nullptr: none
    float slope;        // of the bias per position
    int64_t kv_head;
    int64_t position;     // its own
    SequencePages pages;  // of its sequence
};

float score(const Attention& op, const Query& query, float product, int64_t position) {
    float score = product * op.scale;
    if (op.soft_cap > 0.0f) score = op.soft_cap * std::tanh(score / op.soft_cap);
    return score + query.slope * static_cast<float>(position - query.position);
}

void attend(const Attention& op, const Query& query, const PagedState& k, const PagedState& v, float* y) {
    float row[kMaxWidth];
    float scores[kMaxPageTokens];
    RunningAverage average(y, v.width(), query.sink);
    const int64_t page_tokens = k.page_tokens();
    int64_t begin = op.first_position(query.position);
    while (begin <= query.position) {
        const int64_t index = begin / page_tokens;
        const int64_t offset = begin % page_tokens;
        const int64_t n = std::min(page_tokens - offset, query.position + 1 - begin);
        DEBUG_ENSURE(query.pages.contains(index), "a sequence's pages hold the positions it attends to");
        const int64_t page = query.pages.at(index);
        for (int64_t i = 0; i < n; ++i) {
            k.load(page, query.kv_head, offset + i, row);
            scores[i] = score(op, query, dot(query.q, row, k.width()), begin + i);
        }
        average.raise_maximum(*std::max_element(scores, scores + n));
        for (int64_t i = 0; i < n; ++i) {
            v.load(page, query.kv_head, offset + i, row);
            average.add(scores[i], row);
        }
        begin += n;
    }
    average.finish();
}

void attention(const Attention& op, const Call& call) {
    const Operand& q = call.inputs[0];
    const PagedState k(call.inputs[1]);
    const PagedState v(call.inputs[2]);
    const float* sinks = call.inputs.size() == 4 ? call.inputs[3].as<float>() : nullptr;
    const StepView& step = *call.step;
    const StepGroup& group = step_group(call, op.group);
    const int64_t q_heads = q.desc.shape[1];
    const HeadGroups groups = op.head_groups(q_heads, k.heads());
    for (size_t s = 0; s < static_cast<size_t>(*step.sequence_count); ++s) {
        for (int64_t t = step.token_begin[s]; t < step.token_begin[s + 1]; ++t) {
            const int64_t position = step.positions[static_cast<size_t>(t)];
            DEBUG_ENSURE(position < group.lengths[s], "a token attends only to what its sequence has");
            for (int64_t h = 0; h < q_heads; ++h) {
                const Query query{.q = q.as<float>() + (t * q_heads + h) * k.width(),
                                  .sink = sinks == nullptr ? nullptr : sinks + h,
                                  .slope = op.alibi.slope(op.first_query_head + h),
                                  .kv_head = groups.kv_head(h),
                                  .position = position,
                                  .pages = group.pages_of(s)};
                attend(op, query, k, v, call.outputs[0].as<float>() + (t * q_heads + h) * v.width());
            }
        }
    }
}

}  // namespace

float Alibi::slope(int64_t head) const {
    if (max_bias == 0.0f) return 0.0f;
    const auto even = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(all_heads)));
    const double steps = head < even ? static_cast<double>(head + 1) : static_cast<double>(head - even) + 0.5;
    return static_cast<float>(std::exp2(-static_cast<double>(max_bias) * steps / static_cast<double>(even)));
}

HeadGroups Attention::head_groups(int64_t q_heads, int64_t kv_heads) const {
    const int64_t size = std::max<int64_t>(1, queries_per_kv > 0 ? queries_per_kv : q_heads / kv_heads);
    return {q_heads, size, first_query_head - first_kv_head * size};
}

const Descriptor<CopyPages>& CopyPages::descriptor() {
    static const Descriptor<CopyPages> descriptor{.name = kCopyPages,
                                                  .infer = infer_copy_pages,
                                                  .reference = copy_pages,
                                                  .writes_state = StateWrites::all_inputs,
                                                  .shard = shard};
    return descriptor;
}

const Descriptor<KvWrite>& KvWrite::descriptor() {
    static const Descriptor<KvWrite> descriptor{.name = kKvWrite,
                                                .infer = infer_kv_write,
                                                .reference = kv_write,
                                                .writes_state = StateWrites::last_input,
                                                .shard = shard};
    return descriptor;
}

const Descriptor<Attention>& Attention::descriptor() {
    static const Descriptor<Attention> descriptor{
        .name = kAttention, .infer = infer_attention, .reference = attention, .shard = shard};
    return descriptor;
}

}  // namespace plait::ir
