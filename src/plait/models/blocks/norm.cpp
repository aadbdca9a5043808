#include "plait/models/blocks/norm.h"

#include <utility>

#include "plait/base/ensure.h"

namespace plait::models {

RmsNormLayer declare_rms_norm(WeightTable& table, const std::string& stem, const NormSpec& spec) {
    return {.weight = table.require(stem + ".weight", {spec.width}, ir::Role::replicated),
            .epsilon = spec.epsilon};
}

Norm declare_norm(WeightTable& table, const std::string& stem, const NormForm& form,
                  const NormWeightSpec& spec) {
    const WeightIndex weight = table.require(stem + ".weight", spec.shape, spec.cut);
    switch (form.kind) {
        case NormKind::rms:
            return RmsNormLayer{.weight = weight, .epsilon = spec.epsilon};
        case NormKind::layer:
            return LayerNormLayer{.weight = weight,
                                  .bias = table.find(stem + ".bias", spec.shape, spec.cut, form.bias),
                                  .epsilon = spec.epsilon};
    }
    ENSURE(false, "every kind of norm is declared");
}

ir::ValueId norm(Builder& builder, const RmsNormLayer& layer, ir::ValueId x) {
    return builder.add(ir::RmsNorm{.epsilon = layer.epsilon}, builder.node_name(layer.weight),
                       {x, builder.weight(layer.weight)});
}

ir::ValueId norm(Builder& builder, const LayerNormLayer& layer, ir::ValueId x) {
    std::vector<ir::ValueId> inputs{x, builder.weight(layer.weight)};
    if (layer.bias) inputs.push_back(builder.weight(*layer.bias));
    return builder.add(ir::LayerNorm{.epsilon = layer.epsilon}, builder.node_name(layer.weight),
                       std::move(inputs));
}

ir::ValueId norm(Builder& builder, const Norm& layer, ir::ValueId x) {
    return std::visit([&](const auto& kind) { return norm(builder, kind, x); }, layer);
}

}  // namespace plait::models
