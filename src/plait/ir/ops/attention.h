#pragma once

#include <algorithm>

#include "plait/ir/op.h"

// The ops that touch paged state. A state tensor is [pages, heads, page_tokens, width] in the group's cache
// format; a head's rows are padded to whole blocks. Which page and row belong to which position is data of
// the step (StepView::groups).
namespace plait::ir {

// Does the step's page copies on all tensors of one group, before anything else touches them:
// (every state tensor of the group) -> their next versions.
struct CopyPages {
    int32_t group = 0;
    bool operator==(const CopyPages&) const = default;
    static const Descriptor<CopyPages>& descriptor();
};

// Stores each token's heads at its write slot, encoded to the cache format:
// (x F32 [tokens, heads, width], state) -> state.
struct KvWrite {
    int32_t group = 0;
    bool operator==(const KvWrite&) const = default;
    static const Descriptor<KvWrite>& descriptor();
};

// Attention with linear biases (Press et al. 2022): score + slope * (key position - query position), with a
// slope for each query head of the model.
struct Alibi {
    float max_bias = 0.0f;  // slopes fall from about 1 to 2^-max_bias; 0: no bias
    int64_t all_heads = 0;  // query heads of the model
    bool operator==(const Alibi&) const = default;

    // Of the model's query head `head`. Where the model's heads are no power of two, those beyond the next
    // smaller one take the slopes in between, as in the paper's code.
    float slope(int64_t head) const;
};

// Which query heads of an op read which of its key/value heads: runs of neighbours that share one. The first
// and the last run may be shorter than the others, and key/value heads before and behind may have no reader.
class HeadGroups {
  public:
    // `size`: query heads of the model per key/value head; `before`: so many of them would fit between the
    // operand's first key/value head and the op's first query head.
    HeadGroups(int64_t q_heads, int64_t size, int64_t before)
        : q_heads_(q_heads), size_(size), before_(before) {}

    // The key/value head that a query head reads.
    int64_t kv_head(int64_t query) const { return (before_ + query) / size_; }
    // The query heads that read a key/value head: [begin, begin + count).
    int64_t begin(int64_t kv_head) const {
        return std::clamp<int64_t>(kv_head * size_ - before_, 0, q_heads_);
    }
    int64_t count(int64_t kv_head) const { return begin(kv_head + 1) - begin(kv_head); }
    // No run is longer.
    int64_t largest() const { return std::min(size_, q_heads_); }
    // Whether each of `kv_heads` key/value heads has a run of the same length.
    bool even(int64_t kv_heads) const { return before_ == 0 && size_ * kv_heads == q_heads_; }

  private:
    int64_t q_heads_;
    int64_t size_;
    int64_t before_;
};

// Causal attention of each token over its sequence's state, this step's tokens included (Vaswani et al. 2017;
// grouped heads: Ainslie et al. 2023). (q F32 [tokens, q_heads, k_width], K state, V state) -> F32 [tokens,
// q_heads, v_width]. Positions are walked page by page, in order, with a running maximum (Milakov and
// Gimelshein 2018), so the result does not depend on where pages lie or on what else is in the step.
//
// The operands may have a part of the model's heads. Then query head h of the op is first_query_head + h of
// the model, and reads key/value head (first_query_head + h) / queries_per_kv of the model, which is that
// many less first_kv_head of the operands': of 28 query heads on 4 key/value heads, those from 9 to 17 read
// heads 1 and 2, five the one and four the other.
//
// A score is q . k * scale, then capped, then biased by the distance. A fourth input, sinks F32 [q_heads],
// adds to each head's softmax a score without a value: it takes its share of the weight and adds nothing
// (Xiao et al. 2024; Agarwal et al. 2025).
struct Attention {
    int32_t group = 0;
    float scale = 1.0f;
    int64_t window = 0;     // a token attends to itself and the window - 1 tokens before it; 0: to all
    float soft_cap = 0.0f;  // score -> cap * tanh(score / cap) (Gemma Team 2024); 0: none
    Alibi alibi;
    int64_t first_query_head = 0;
    int64_t first_kv_head = 0;
    int64_t queries_per_kv = 0;  // 0: q_heads / kv_heads, which is then a whole number
    bool operator==(const Attention&) const = default;
    static const Descriptor<Attention>& descriptor();

    // The first position that the token at `position` attends to.
    int64_t first_position(int64_t position) const {
        return window == 0 || position < window ? 0 : position - window + 1;
    }
    // Of operands with so many heads.
    HeadGroups head_groups(int64_t q_heads, int64_t kv_heads) const;
};

}  // namespace plait::ir
