#include "plait/models/blocks/moe.h"

namespace plait::models {
namespace {

ExpertLinear declare_expert_linear(WeightTable& table, const std::string& stem, const LinearSpec& spec,
                                   int64_t experts) {
    ExpertLinear linear{.weight = table.require(stem + ".weight", {experts, spec.out, spec.in}, spec.cut)};
    const ir::Shape shape{experts, spec.out};
    linear.bias = table.find(stem + ".bias", shape, bias_cut(spec.cut), spec.bias);
    return linear;
}

ir::ValueId expert_linear(Builder& builder, const ExpertLinear& linear, ir::ValueId x, ir::ValueId ids) {
    const ir::ValueId product = builder.add(ir::MatmulExperts{}, builder.node_name(linear.weight),
                                            {x, builder.weight(linear.weight), ids});
    if (!linear.bias) return product;
    return builder.add(ir::AddExpertBias{}, builder.node_name(*linear.bias),
                       {product, builder.weight(*linear.bias), ids});
}

std::optional<SharedExpert> declare_shared(WeightTable& table, int64_t layer, const MoeSpec& spec) {
    if (spec.shared_width == 0) return std::nullopt;
    const int64_t width = spec.shape.width;
    return SharedExpert{
        .layer = layer,
        .gate =
            table.require_row(layer_name(layer, "ffn_gate_inp_shexp.weight"), width, ir::Role::replicated),
        .ffn = declare_gated_ffn(
            table, layer, {.shape = {.width = width, .inner_width = spec.shared_width}, .suffix = "_shexp"})};
}

// sigmoid(gate . x) * ffn(x): a weighted sum of one.
ir::ValueId feed_forward(Builder& builder, const SharedExpert& expert, ir::ValueId x) {
    const ir::ValueId logit = linear(builder, {.weight = expert.gate}, x);
    const ir::ValueId weight = builder.add(ir::Activate{.activation = ir::Activation::sigmoid},
                                           layer_name(expert.layer, "ffn_gate_shexp_weight"), {logit});
    const ir::ValueId y = feed_forward(builder, expert.ffn, x);
    const ir::ValueId alone =
        builder.add(ir::SplitHeads{.heads = 1}, layer_name(expert.layer, "ffn_shexp"), {y});
    return builder.add(ir::WeightedSum{}, layer_name(expert.layer, "ffn_shexp_sum"), {alone, weight});
}

}  // namespace

MoeFfn declare_moe_ffn(WeightTable& table, int64_t layer, const MoeSpec& spec) {
    const auto [width, inner_width] = spec.shape;
    const int64_t experts = spec.experts.count;
    const auto declare = [&](const char* part, int64_t out, int64_t in, ir::Role role) {
        const LinearSpec linear{
            .out = out, .in = in, .cut = {role, layer_name(layer, "ffn")}, .bias = spec.bias};
        return declare_expert_linear(table, layer_name(layer, part), linear, experts);
    };
    return {.layer = layer,
            .choice = {.used = spec.experts.used, .renormalise = spec.renormalise},
            .gating = spec.gating,
            .router = declare_linear(table, layer_name(layer, "ffn_gate_inp"),
                                     {.out = experts, .in = width, .bias = spec.bias}),
            .gate = declare("ffn_gate_exps", inner_width, width, ir::Role::expert_up),
            .up = declare("ffn_up_exps", inner_width, width, ir::Role::expert_up),
            .down = declare("ffn_down_exps", width, inner_width, ir::Role::expert_down),
            .shared = declare_shared(table, layer, spec)};
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
    const ir::ValueId sum = builder.add(ir::WeightedSum{}, layer_name(ffn.layer, "ffn_sum"), {down, weights});
    if (!ffn.shared) return sum;
    return builder.add(ir::Add{}, layer_name(ffn.layer, "ffn_out"),
                       {sum, feed_forward(builder, *ffn.shared, x)});
}

}  // namespace plait::models
