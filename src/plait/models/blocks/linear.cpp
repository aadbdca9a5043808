#include "plait/models/blocks/linear.h"

namespace plait::models {

ir::Role bias_role(ir::Role matrix) {
    const bool about_inputs = matrix == ir::Role::attention_output || matrix == ir::Role::ffn_down ||
                              matrix == ir::Role::expert_down;
    return about_inputs ? ir::Role::replicated : matrix;
}

Linear declare_linear(WeightTable& table, const std::string& stem, const LinearSpec& spec) {
    Linear layer{.weight = table.require(stem + ".weight", {spec.out, spec.in}, spec.role)};
    const std::string bias = stem + ".bias";
    if (spec.bias == Bias::required)
        layer.bias = table.require(bias, {spec.out}, bias_role(spec.role));
    else
        layer.bias = table.optional(bias, {spec.out}, bias_role(spec.role));
    return layer;
}

ir::ValueId linear(Builder& builder, const Linear& layer, ir::ValueId x) {
    const ir::ValueId product =
        builder.add(ir::Matmul{}, builder.node_name(layer.weight), {x, builder.weight(layer.weight)});
    if (!layer.bias) return product;
    return builder.add(ir::Add{}, builder.node_name(*layer.bias), {product, builder.weight(*layer.bias)});
}

}  // namespace plait::models
