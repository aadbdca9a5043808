#include "plait/models/blocks/linear.h"

namespace plait::models {

ir::Cut bias_cut(const ir::Cut& matrix) {
    switch (matrix.role) {
        case ir::Role::attention_output:
        case ir::Role::ffn_down:
            return ir::Role::replicated;
        case ir::Role::expert_down:
            return {ir::Role::expert_down_bias, matrix.part};
        default:
            return matrix;
    }
}

Linear declare_linear(WeightTable& table, const std::string& stem, const LinearSpec& spec) {
    Linear layer{.weight = table.require(stem + ".weight", {spec.out, spec.in}, spec.cut)};
    layer.bias = table.find(stem + ".bias", {spec.out}, bias_cut(spec.cut), spec.bias);
    return layer;
}

ir::ValueId linear(Builder& builder, const Linear& layer, ir::ValueId x) {
    const ir::ValueId product =
        builder.add(ir::Matmul{}, builder.node_name(layer.weight), {x, builder.weight(layer.weight)});
    if (!layer.bias) return product;
    return builder.add(ir::Add{}, builder.node_name(*layer.bias), {product, builder.weight(*layer.bias)});
}

}  // namespace plait::models
