#include <algorithm>
#include <cmath>
#include <limits>

#include "plait/backends/cpu/kernel.h"
#include "plait/backends/cpu/kernels/by_format.h"

// Attention over paged state. An item is one token and one key/value head: the query heads that share the
// head are rows of one small product, so each cached row is read once for all of them.
namespace plait::backends::cpu {
namespace {

// The pool of one state tensor: [pages, heads, page_tokens, width].
struct Pool {
    const ir::Operand& operand;

    int64_t heads() const { return operand.desc.shape[1]; }
    int64_t page_tokens() const { return operand.desc.shape[2]; }
    int64_t width() const { return operand.desc.shape[3]; }
    std::byte* rows(int64_t page, int64_t head) const {
        return operand.row((page * heads() + head) * page_tokens());
    }
};

int64_t sequence_of(const ir::StepView& step, int64_t token) {
    int64_t sequence = 0;
    while (step.token_begin[static_cast<size_t>(sequence) + 1] <= token) ++sequence;
    return sequence;
}

ir::HeadGroups groups_of(const ir::Op& op, std::span<const ir::TensorDesc> inputs) {
    return std::get<ir::Attention>(op).head_groups(inputs[0].shape[1], inputs[1].shape[1]);
}

// The running softmax of the query heads that share one key/value head.
class Softmax {
  public:
    Softmax(const KernelCall& call, const ir::HeadGroups& groups, int64_t token, int64_t head,
            std::byte* workspace)
        : op_(call.as<ir::Attention>()),
          simd_(*call.simd),
          keys_{call.in(1)},
          values_{call.in(2)},
          head_(head),
          first_query_(groups.begin(head)),
          group_(groups.count(head)),
          position_(call.step().positions[static_cast<size_t>(token)]),
          scores_(reinterpret_cast<float*>(workspace)),
          maxima_(scores_ + group_ * keys_.page_tokens()),
          sums_(maxima_ + group_) {
        const int64_t first_row = token * call.in(0).desc.shape[1] + first_query_;
        queries_ = call.in(0).as<float>() + first_row * keys_.width();
        out_ = call.out().as<float>() + first_row * values_.width();
        start(call.operands.inputs.size() == 4 ? call.in(3).as<float>() + first_query_ : nullptr);
        std::fill_n(out_, group_ * values_.width(), 0.0f);
    }

    // Adds `count` positions from `position` on, which lie in the page from row `offset` on.
    void add_rows(int64_t page, int64_t offset, int64_t position, int64_t count) {
        by_format(simd_.matmul_f32, keys_.operand.desc.type)({
            .weights = keys_.rows(page, head_) + offset * keys_.operand.desc.row_bytes(),
            .row_bytes = keys_.operand.desc.row_bytes(),
            .activations = queries_,
            .activation_bytes = keys_.width() * static_cast<int64_t>(sizeof(float)),
            .out = scores_,
            .out_stride = keys_.page_tokens(),
            .rows = count,
            .tokens = group_,
            .k = keys_.width(),
        });
        for (int64_t query = 0; query < group_; ++query) weigh(query, position, count);
        by_format(simd_.weighted_rows, values_.operand.desc.type)({
            .rows_begin = values_.rows(page, head_) + offset * values_.operand.desc.row_bytes(),
            .row_bytes = values_.operand.desc.row_bytes(),
            .weights = scores_,
            .weights_stride = keys_.page_tokens(),
            .out = out_,
            .out_stride = values_.width(),
            .rows = count,
            .queries = group_,
            .width = values_.width(),
        });
    }

    void finish() {
        for (int64_t query = 0; query < group_; ++query) {
            if (sums_[query] > 0) scale_result(query, 1.0f / sums_[query]);
        }
    }

    static int64_t workspace_bytes(const ir::Op& op, std::span<const ir::TensorDesc> inputs) {
        return groups_of(op, inputs).largest() * (inputs[1].shape[2] + 2) *
               static_cast<int64_t>(sizeof(float));
    }

  private:
    // A sink is a score that is there from the beginning and adds no value.
    void start(const float* sinks) {
        if (sinks == nullptr) {
            std::fill_n(maxima_, group_, -std::numeric_limits<float>::infinity());
            std::fill_n(sums_, group_, 0.0f);
        } else {
            std::copy_n(sinks, group_, maxima_);
            std::fill_n(sums_, group_, 1.0f);
        }
    }

    // Products of `query` with keys from `position` on become scores.
    void score(int64_t query, int64_t position, float* scores, int64_t count) {
        simd_.scale(scores, scores, count, op_.scale);
        if (op_.soft_cap > 0.0f) simd_.soft_cap(scores, scores, count, op_.soft_cap);
        if (op_.alibi.max_bias > 0.0f) {
            simd_.add_ramp(scores, count, static_cast<float>(position - position_),
                           op_.alibi.slope(op_.first_query_head + first_query_ + query));
        }
    }

    // Scores become weights relative to the new maximum; what was added before is scaled to it.
    void weigh(int64_t query, int64_t position, int64_t count) {
        float* scores = scores_ + query * keys_.page_tokens();
        score(query, position, scores, count);
        const float maximum = std::max(maxima_[query], simd_.max(scores, count));
        const float shrink = maximum == maxima_[query] ? 1.0f : std::exp(maxima_[query] - maximum);
        if (shrink != 1.0f) scale_result(query, shrink);
        sums_[query] = sums_[query] * shrink + simd_.exp_sum(scores, count, maximum);
        maxima_[query] = maximum;
    }

    void scale_result(int64_t query, float factor) {
        float* result = out_ + query * values_.width();
        simd_.scale(result, result, values_.width(), factor);
    }

    const ir::Attention& op_;
    const simd::KernelTable& simd_;
    const Pool keys_;
    const Pool values_;
    const int64_t head_;
    const int64_t first_query_;  // of the query heads that share the key/value head
    const int64_t group_;        // how many they are
    const int64_t position_;     // of the token
    float* const scores_;        // [group, page_tokens]
    float* const maxima_;        // [group]
    float* const sums_;          // [group]
    const float* queries_;       // [group, key width]
    float* out_;                 // [group, value width]
};

// An item writes the heads of one group.
int64_t attention_stretch(const ir::Op& op, std::span<const ir::TensorDesc> inputs,
                          const ir::TensorDesc& output) {
    const ir::HeadGroups groups = groups_of(op, inputs);
    return groups.even(inputs[1].shape[1]) ? groups.largest() * output.shape[2] : kNoStretch;
}

int64_t attention_items(const KernelCall& call) {
    return call.operands.rows(call.in(0)) * call.in(1).desc.shape[1];
}

void run_attention(const KernelCall& call, int64_t item, std::byte* workspace) {
    const int64_t heads = call.in(1).desc.shape[1];
    const int64_t page_tokens = call.in(1).desc.shape[2];
    const int64_t token = item / heads;
    const ir::StepView& step = call.step();
    const auto& op = call.as<ir::Attention>();
    const ir::HeadGroups groups = op.head_groups(call.in(0).desc.shape[1], heads);
    if (groups.count(item % heads) == 0) return;
    const ir::StepGroup& group = step.groups[static_cast<size_t>(op.group)];
    const ir::SequencePages pages = group.pages_of(static_cast<size_t>(sequence_of(step, token)));
    const int64_t own = step.positions[static_cast<size_t>(token)];
    Softmax softmax(call, groups, token, item % heads, workspace);
    int64_t position = op.first_position(own);
    while (position <= own) {
        const int64_t offset = position % page_tokens;
        const int64_t count = std::min(page_tokens - offset, own + 1 - position);
        softmax.add_rows(pages.at(position / page_tokens), offset, position, count);
        position += count;
    }
    softmax.finish();
}

int64_t token_items(const KernelCall& call) { return call.operands.rows(call.in(0)); }

// A head's row, widened with zeros to whole blocks where its width is none.
void store_row(ir::DType type, const float* row, int64_t width, std::byte* to) {
    const dtype::DTypeInfo& format = dtype::info(type);
    const int64_t whole = width / format.block_elements * format.block_elements;
    format.encode(row, to, whole);
    if (whole == width) return;
    float tail[dtype::kMaxCacheBlock] = {};
    std::copy(row + whole, row + width, tail);
    format.encode(tail, to + dtype::row_bytes(type, whole), format.block_elements);
}

// An item is one token: all its heads.
void run_kv_write(const KernelCall& call, int64_t item, std::byte* /*workspace*/) {
    const Pool pool{call.in(1)};
    const ir::StepGroup& group = call.step().groups[static_cast<size_t>(call.as<ir::KvWrite>().group)];
    const int64_t slot = group.write_slots[static_cast<size_t>(item)];
    const int64_t row_bytes = pool.operand.desc.row_bytes();
    for (int64_t head = 0; head < pool.heads(); ++head) {
        std::byte* to = pool.rows(slot / pool.page_tokens(), head) + slot % pool.page_tokens() * row_bytes;
        const float* row = call.in(0).as<float>() + (item * pool.heads() + head) * pool.width();
        store_row(pool.operand.desc.type, row, pool.width(), to);
    }
}

}  // namespace

void add_attention_kernels(const KernelChoice& choice, std::vector<Kernel>& list) {
    const device::FormatSet read =
        formats_of(choice.simd->matmul_f32) & formats_of(choice.simd->weighted_rows);
    list.push_back({.support = {.op = ir::op_id_of<ir::Attention>(),
                                .weight_formats = device::formats(ir::DType::F32),
                                .state_formats = device::cache_formats() & read},
                    .items = attention_items,
                    .run = run_attention,
                    .workspace_bytes = Softmax::workspace_bytes,
                    .stretch = attention_stretch});
    list.push_back({.support = {.op = ir::op_id_of<ir::KvWrite>(), .state_formats = device::cache_formats()},
                    .items = token_items,
                    .run = run_kv_write});
}

}  // namespace plait::backends::cpu
