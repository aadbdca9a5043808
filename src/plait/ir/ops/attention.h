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

// Causal attention of each token over its sequence's state, this step's tokens included (Vaswani et al. 2017;
// grouped heads: Ainslie et al. 2023). (q F32 [tokens, q_heads, k_width], K state, V state) -> F32 [tokens,
// q_heads, v_width]. Query head h reads key/value head h / (q_heads / kv_heads). Positions are walked page by
// page, in order, with a running maximum (Milakov and Gimelshein 2018), so the result does not depend on
// where pages lie or on what else is in the step.
struct Attention {
    int32_t group = 0;
    float scale = 1.0f;  // of the scores, before the softmax
    bool operator==(const Attention&) const = default;
    static const Descriptor<Attention>& descriptor();
};

}  // namespace plait::ir
