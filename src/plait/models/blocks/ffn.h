#pragma once

#include "plait/models/blocks/builder.h"
#include "plait/models/blocks/linear.h"

// Feed-forward networks applied to every token alone: F32 [tokens, width] -> the same.
namespace plait::models {

// down(activation(gate(x)) * up(x)) (Shazeer 2020): tensors ffn_gate, ffn_up, ffn_down, biases optional.
struct GatedFfn {
    int64_t layer = 0;
    ir::Activation activation = ir::Activation::silu;
    Linear gate;
    Linear up;
    Linear down;
};

// down(gelu(up(x))): tensors ffn_up, ffn_down with biases.
struct PlainFfn {
    int64_t layer = 0;
    Linear up;
    Linear down;
};

struct FfnShape {
    int64_t width = 0;
    int64_t inner_width = 0;
};

GatedFfn declare_gated_ffn(WeightTable& table, int64_t layer, const FfnShape& shape,
                           ir::Activation activation = ir::Activation::silu);
PlainFfn declare_plain_ffn(WeightTable& table, int64_t layer, const FfnShape& shape);

ir::ValueId feed_forward(Builder& builder, const GatedFfn& ffn, ir::ValueId x);
ir::ValueId feed_forward(Builder& builder, const PlainFfn& ffn, ir::ValueId x);

}  // namespace plait::models
