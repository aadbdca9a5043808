#include "plait/models/blocks/moe.h"

namespace plait::models {

MoeFfn declare_moe_ffn(WeightTable& table, int64_t layer, const MoeSpec& spec) {
    const auto [width, inner_width] = spec.shape;
    const int64_t experts = spec.experts.count;
    const auto require = [&](const char* tensor, const ir::Shape& shape, ir::Role role) {
        return table.require(layer_name(layer, tensor), shape, role);
    };
    return {.layer = layer,
            .choice = {.used = spec.experts.used, .renormalise = spec.renormalise},
            .router = require("ffn_gate_inp.weight", {experts, width}, ir::Role::replicated),
            .gate = require("ffn_gate_exps.weight", {experts, inner_width, width}, ir::Role::expert_up),
            .up = require("ffn_up_exps.weight", {experts, inner_width, width}, ir::Role::expert_up),
            .down = require("ffn_down_exps.weight", {experts, width, inner_width}, ir::Role::expert_down)};
}

ir::ValueId feed_forward(Builder& builder, const MoeFfn& ffn, ir::ValueId x) {
    const ir::ValueId logits = linear(builder, {.weight = ffn.router}, x);
    const auto chosen = builder.add_all(ffn.choice, layer_name(ffn.layer, "ffn_choice"), {logits});
    const ir::ValueId ids = chosen[0];
    const ir::ValueId weights = chosen[1];

    const auto product = [&](WeightIndex stacked, ir::ValueId input) {
        return builder.add(ir::MatmulExperts{}, builder.node_name(stacked),
                           {input, builder.weight(stacked), ids});
    };
    const ir::ValueId gate = product(ffn.gate, x);
    const ir::ValueId up = product(ffn.up, x);
    const ir::ValueId inner = builder.add(ir::GatedActivate{.activation = ir::Activation::silu},
                                          layer_name(ffn.layer, "ffn_activation"), {gate, up});
    const ir::ValueId down = product(ffn.down, inner);
    return builder.add(ir::WeightedSum{}, layer_name(ffn.layer, "ffn_sum"), {down, weights});
}

}  // namespace plait::models
