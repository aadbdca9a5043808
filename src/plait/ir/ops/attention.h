#pragma once

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
// slope for each head of the whole model, of which the op's queries may be a part.
struct Alibi {
    float max_bias = 0.0f;   // slopes fall from about 1 to 2^-max_bias; 0: no bias
    int64_t first_head = 0;  // number of the op's first query head in the model
    int64_t all_heads = 0;   // query heads of the model
    bool operator==(const Alibi&) const = default;

    // Of the op's query head `head`. Where the model's heads are no power of two, those beyond the next
    // smaller one take the slopes in between, as in the paper's code.
    float slope(int64_t head) const;
};

// Causal attention of each token over its sequence's state, this step's tokens included (Vaswani et al. 2017;
// grouped heads: Ainslie et al. 2023). (q F32 [tokens, q_heads, k_width], K state, V state) -> F32 [tokens,
// q_heads, v_width]. Query head h reads key/value head h / (q_heads / kv_heads). Positions are walked page by
// page, in order, with a running maximum (Milakov and Gimelshein 2018), so the result does not depend on
// where pages lie or on what else is in the step.
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
    bool operator==(const Attention&) const = default;
    static const Descriptor<Attention>& descriptor();

    // The first position that the token at `position` attends to.
    int64_t first_position(int64_t position) const {
        return window == 0 || position < window ? 0 : position - window + 1;
    }
};

}  // namespace plait::ir
