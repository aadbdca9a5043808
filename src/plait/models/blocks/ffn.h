#pragma once

#include <string>

#include "plait/models/blocks/builder.h"
#include "plait/models/blocks/linear.h"

// Feed-forward networks applied to every token alone: F32 [tokens, width] -> the same.
namespace plait::models {

// down(activation(gate(x)) * up(x)) (Shazeer 2020): tensors ffn_gate, ffn_up, ffn_down.
struct GatedFfn {
    Linear gate;
    Linear up;
    Linear down;
    ir::Activation activation = ir::Activation::silu;
    std::string node;  // name of the activation's
};

// The same with one tensor ffn_up whose rows are [gate | up].
struct FusedGatedFfn {
    int64_t layer = 0;
    int64_t inner_width = 0;
    Linear gate_up;
    Linear down;
    ir::Activation activation = ir::Activation::silu;
};

// down(activation(up(x))): tensors ffn_up, ffn_down.
struct PlainFfn {
    Linear up;
    Linear down;
    ir::Activation activation = ir::Activation::gelu_tanh;
    std::string node;  // name of the activation's
};

struct FfnShape {
    int64_t width = 0;
    int64_t inner_width = 0;
};

struct FfnSpec {
    FfnShape shape;
    ir::Activation activation = ir::Activation::silu;
    Bias bias = Bias::absent;
    const char* suffix = "";  // of the tensors' names
};

GatedFfn declare_gated_ffn(WeightTable& table, int64_t layer, const FfnSpec& spec);
FusedGatedFfn declare_fused_gated_ffn(WeightTable& table, int64_t layer, const FfnSpec& spec);
PlainFfn declare_plain_ffn(WeightTable& table, int64_t layer, const FfnSpec& spec);

ir::ValueId feed_forward(Builder& builder, const GatedFfn& ffn, ir::ValueId x);
ir::ValueId feed_forward(Builder& builder, const FusedGatedFfn& ffn, ir::ValueId x);
ir::ValueId feed_forward(Builder& builder, const PlainFfn& ffn, ir::ValueId x);

}  // namespace plait::models
