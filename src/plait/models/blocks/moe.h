#pragma once

#include <optional>

#include "plait/models/blocks/builder.h"
#include "plait/models/blocks/ffn.h"
#include "plait/models/hyperparameters.h"

namespace plait::models {

// One matrix per expert, stacked, and where there are any a bias per expert.
struct ExpertLinear {
    WeightIndex weight = 0;           // [experts, out, in]
    std::optional<WeightIndex> bias;  // [experts, out]
};

// A mixture of gated feed-forward networks (Shazeer et al. 2017): a router picks a few for each token, whose
// results are added up with the router's weights. Tensors ffn_gate_inp (the router) and ffn_gate_exps,
// ffn_up_exps, ffn_down_exps, each all experts stacked. F32 [tokens, width] -> the same.
struct MoeFfn {
    int64_t layer = 0;
    ir::TopKExperts choice;
    ir::Op gating;
    Linear router;
    ExpertLinear gate;
    ExpertLinear up;
    ExpertLinear down;
};

// What there is to choose from and how: softmax over all experts, then the best; renormalised to a sum of one
// or not.
struct MoeSpec {
    FfnShape shape;  // of each expert
    ExpertCounts experts;
    bool renormalise = true;
    ir::Op gating = ir::GatedActivate{.activation = ir::Activation::silu};  // of (gate, up)
    Bias bias = Bias::optional;  // of the router and of each expert's matrices
};

MoeFfn declare_moe_ffn(WeightTable& table, int64_t layer, const MoeSpec& spec);

ir::ValueId feed_forward(Builder& builder, const MoeFfn& ffn, ir::ValueId x);

}  // namespace plait::models
