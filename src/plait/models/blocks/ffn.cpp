#include "plait/models/blocks/ffn.h"

namespace plait::models {
namespace {

Linear declare_inward(WeightTable& table, int64_t layer, const char* part, const FfnShape& shape, Bias bias) {
    return declare_linear(
        table, layer_name(layer, part),
        {.out = shape.inner_width, .in = shape.width, .role = ir::Role::ffn_up, .bias = bias});
}

Linear declare_down(WeightTable& table, int64_t layer, const FfnShape& shape, Bias bias) {
    return declare_linear(
        table, layer_name(layer, "ffn_down"),
        {.out = shape.width, .in = shape.inner_width, .role = ir::Role::ffn_down, .bias = bias});
}

}  // namespace

GatedFfn declare_gated_ffn(WeightTable& table, int64_t layer, const FfnShape& shape,
                           ir::Activation activation) {
    return {.layer = layer,
            .activation = activation,
            .gate = declare_inward(table, layer, "ffn_gate", shape, Bias::optional),
            .up = declare_inward(table, layer, "ffn_up", shape, Bias::optional),
            .down = declare_down(table, layer, shape, Bias::optional)};
}

PlainFfn declare_plain_ffn(WeightTable& table, int64_t layer, const FfnShape& shape) {
    return {.layer = layer,
            .up = declare_inward(table, layer, "ffn_up", shape, Bias::required),
            .down = declare_down(table, layer, shape, Bias::required)};
}

ir::ValueId feed_forward(Builder& builder, const GatedFfn& ffn, ir::ValueId x) {
    const ir::ValueId gate = linear(builder, ffn.gate, x);
    const ir::ValueId up = linear(builder, ffn.up, x);
    const ir::ValueId inner = builder.add(ir::GatedActivate{.activation = ffn.activation},
                                          layer_name(ffn.layer, "ffn_activation"), {gate, up});
    return linear(builder, ffn.down, inner);
}

ir::ValueId feed_forward(Builder& builder, const PlainFfn& ffn, ir::ValueId x) {
    const ir::ValueId up = linear(builder, ffn.up, x);
    const ir::ValueId inner = builder.add(ir::Activate{.activation = ir::Activation::gelu_tanh},
                                          layer_name(ffn.layer, "ffn_activation"), {up});
    return linear(builder, ffn.down, inner);
}

}  // namespace plait::models
