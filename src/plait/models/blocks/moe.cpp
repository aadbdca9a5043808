#include "plait/models/blocks/moe.h"

namespace plait::models {
namespace {

ExpertLinear declare_expert_linear(WeightTable& table, const std::string& stem, const LinearSpec& spec,
                                   int64_t experts) {
    ExpertLinear linear{.weight = table.require(stem + ".weight", {experts, spec.out, spec.in}, spec.role)};
    const ir::Shape shape{experts, spec.out};
    if (spec.bias == Bias::required)
        linear.bias = table.require(stem + ".bias", shape, bias_role(spec.role));
    else
        linear.bias = table.optional(stem + ".bias", shape, bias_role(spec.role));
    return linear;
}

ir::ValueId expert_linear(Builder& builder, const ExpertLinear& linear, ir::ValueId x, ir::ValueId ids) {
    const ir::ValueId product = builder.add(ir::MatmulExperts{}, builder.node_name(linear.weight),
                                            {x, builder.weight(linear.weight), ids});
    if (!linear.bias) return product;
    return builder.add(ir::AddExpertBias{}, builder.node_name(*linear.bias),
                       {product, builder.weight(*linear.bias), ids});
}

}  // namespace

MoeFfn declare_moe_ffn(WeightTable& table, int64_t layer, const MoeSpec& spec) {
    const auto [width, inner_width] = spec.shape;
    const int64_t experts = spec.experts.count;
    const auto declare = [&](const char* part, int64_t out, int64_t in, ir::Role role) {
        const LinearSpec linear{.out = out, .in = in, .role = role, .bias = spec.bias};
        return declare_expert_linear(table, layer_name(layer, part), linear, experts);
    };
    return {.layer = layer,
            .choice = {.used = spec.experts.used, .renormalise = spec.renormalise},
            .gating = spec.gating,
            .router = declare_linear(table, layer_name(layer, "ffn_gate_inp"),
                                     {.out = experts, .in = width, .bias = spec.bias}),
            .gate = declare("ffn_gate_exps", inner_width, width, ir::Role::expert_up),
            .up = declare("ffn_up_exps", inner_width, width, ir::Role::expert_up),
            .down = declare("ffn_down_exps", width, inner_width, ir::Role::expert_down)};
}

ir::ValueId feed_forward(Builder& builder, const MoeFfn& ffn, ir::ValueId x) {
    const ir::ValueId logits = linear(builder, ffn.router, x);
    const auto chosen = builder.add_all(ffn.choice, layer_name(ffn.layer, "ffn_choice"), {logits});
    const ir::ValueId ids = chosen[0];
    const ir::ValueId weights = chosen[1];

    const ir::ValueId gate = expert_linear(builder, ffn.gate, x, ids);
    const ir::ValueId up = expert_linear(builder, ffn.up, x, ids);
    const ir::ValueId inner = builder.add(ffn.gating, layer_name(ffn.layer, "ffn_activation"), {gate, up});
    const ir::ValueId down = expert_linear(builder, ffn.down, inner, ids);
    return builder.add(ir::WeightedSum{}, layer_name(ffn.layer, "ffn_sum"), {down, weights});
}

}  // namespace plait::models
