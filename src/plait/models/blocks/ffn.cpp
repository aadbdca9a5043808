#include "plait/models/blocks/ffn.h"

namespace plait::models {
namespace {

std::string part_name(int64_t layer, const char* part, const FfnSpec& spec) {
    return layer_name(layer, std::string(part) + spec.suffix);
}

Linear declare_inward(WeightTable& table, int64_t layer, const char* part, const FfnSpec& spec) {
    return declare_linear(table, part_name(layer, part, spec),
                          {.out = spec.shape.inner_width,
                           .in = spec.shape.width,
                           .cut = {ir::Role::ffn_up, part_name(layer, "ffn", spec)},
                           .bias = spec.bias});
}

Linear declare_down(WeightTable& table, int64_t layer, const FfnSpec& spec) {
    return declare_linear(table, part_name(layer, "ffn_down", spec),
                          {.out = spec.shape.width,
                           .in = spec.shape.inner_width,
                           .cut = {ir::Role::ffn_down, part_name(layer, "ffn", spec)},
                           .bias = spec.bias});
}

}  // namespace

GatedFfn declare_gated_ffn(WeightTable& table, int64_t layer, const FfnSpec& spec) {
    return {.gate = declare_inward(table, layer, "ffn_gate", spec),
            .up = declare_inward(table, layer, "ffn_up", spec),
            .down = declare_down(table, layer, spec),
            .activation = spec.activation,
            .node = part_name(layer, "ffn_activation", spec)};
}

FusedGatedFfn declare_fused_gated_ffn(WeightTable& table, int64_t layer, const FfnSpec& spec) {
    return {.layer = layer,
            .inner_width = spec.shape.inner_width,
            .gate_up = declare_linear(table, part_name(layer, "ffn_up", spec),
                                      {.out = 2 * spec.shape.inner_width,
                                       .in = spec.shape.width,
                                       .cut = {ir::Role::fused_gate_up, part_name(layer, "ffn", spec)},
                                       .bias = spec.bias}),
            .down = declare_down(table, layer, spec),
            .activation = spec.activation};
}

PlainFfn declare_plain_ffn(WeightTable& table, int64_t layer, const FfnSpec& spec) {
    return {.up = declare_inward(table, layer, "ffn_up", spec),
            .down = declare_down(table, layer, spec),
            .activation = spec.activation,
            .node = part_name(layer, "ffn_activation", spec)};
}

ir::ValueId feed_forward(Builder& builder, const GatedFfn& ffn, ir::ValueId x) {
    const ir::ValueId gate = linear(builder, ffn.gate, x);
    const ir::ValueId up = linear(builder, ffn.up, x);
    return linear(builder, ffn.down,
                  builder.add(ir::GatedActivate{.activation = ffn.activation}, ffn.node, {gate, up}));
}

ir::ValueId feed_forward(Builder& builder, const FusedGatedFfn& ffn, ir::ValueId x) {
    const ir::ValueId both = linear(builder, ffn.gate_up, x);
    const auto half = [&](const char* name, int64_t begin) {
        return builder.add(ir::Slice{.begin = begin, .extent = ffn.inner_width}, layer_name(ffn.layer, name),
                           {both});
    };
    const ir::ValueId gate = half("ffn_gate_half", 0);
    const ir::ValueId up = half("ffn_up_half", ffn.inner_width);
    return linear(builder, ffn.down,
                  builder.add(ir::GatedActivate{.activation = ffn.activation},
                              layer_name(ffn.layer, "ffn_activation"), {gate, up}));
}

ir::ValueId feed_forward(Builder& builder, const PlainFfn& ffn, ir::ValueId x) {
    const ir::ValueId up = linear(builder, ffn.up, x);
    return linear(builder, ffn.down, builder.add(ir::Activate{.activation = ffn.activation}, ffn.node, {up}));
}

}  // namespace plait::models
