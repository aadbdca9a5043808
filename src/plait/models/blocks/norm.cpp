#include "plait/models/blocks/norm.h"

namespace plait::models {

RmsNormLayer declare_rms_norm(WeightTable& table, const std::string& stem, const NormSpec& spec) {
    return {.weight = table.require(stem + ".weight", {spec.width}, ir::Role::replicated),
            .epsilon = spec.epsilon};
}

LayerNormLayer declare_layer_norm(WeightTable& table, const std::string& stem, const NormSpec& spec) {
    return {.weight = table.require(stem + ".weight", {spec.width}, ir::Role::replicated),
            .bias = table.require(stem + ".bias", {spec.width}, ir::Role::replicated),
            .epsilon = spec.epsilon};
}

ir::ValueId norm(Builder& builder, const RmsNormLayer& layer, ir::ValueId x) {
    return builder.add(ir::RmsNorm{.epsilon = layer.epsilon}, builder.node_name(layer.weight),
                       {x, builder.weight(layer.weight)});
}

ir::ValueId norm(Builder& builder, const LayerNormLayer& layer, ir::ValueId x) {
    return builder.add(ir::LayerNorm{.epsilon = layer.epsilon}, builder.node_name(layer.weight),
                       {x, builder.weight(layer.weight), builder.weight(layer.bias)});
}

}  // namespace plait::models
