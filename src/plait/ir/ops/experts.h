#pragma once

#include "plait/ir/op.h"

namespace plait::ir {

// Chooses experts: softmax over all logits, then those of the `used` largest logits, the lower id first among
// equals.
// Renormalised, that is the softmax over the chosen logits alone.
// (logits F32 [tokens, experts]) -> ids I32 [tokens, used], weights F32 [tokens, used].
struct TopKExperts {
    int64_t used = 0;
    bool renormalise = true;  // chosen weights divided by their sum
    float scale = 1.0f;       // of the weights, after renormalising
    bool operator==(const TopKExperts&) const = default;
    static const Descriptor<TopKExperts>& descriptor();
};

// Adds to each slot the bias of its expert: (x F32 [tokens, used, n], bias F32 [experts, n], ids I32 [tokens,
// used]) -> F32 like x. The operand may have a part of the experts, [first_expert, first_expert + experts);
// slots of others stay as they are.
struct AddExpertBias {
    int64_t first_expert = 0;
    bool operator==(const AddExpertBias&) const = default;
    static const Descriptor<AddExpertBias>& descriptor();
};

// y[t] = sum_s weights[t, s] * x[t, s], in order of s: (x F32 [tokens, used, n], weights F32 [tokens, used])
// -> F32 [tokens, n].
struct WeightedSum {
    bool operator==(const WeightedSum&) const = default;
    static const Descriptor<WeightedSum>& descriptor();
};

}  // namespace plait::ir
