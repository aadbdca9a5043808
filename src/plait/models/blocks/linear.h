#pragma once

#include <optional>
#include <string>

#include "plait/models/blocks/builder.h"
#include "plait/models/weight_table.h"

namespace plait::models {

// y = W x + b, with b where there is one: F32 [rows, in] -> F32 [rows, out].
struct Linear {
    WeightIndex weight = 0;
    std::optional<WeightIndex> bias;
};

using Bias = Presence;  // of the vector

struct LinearSpec {
    int64_t out = 0;
    int64_t in = 0;
    ir::Cut cut;
    Bias bias = Bias::optional;
};

// A bias lies along the output features: it is cut like the matrix if that is cut along them, and not at all
// if that is cut along the input features.
ir::Cut bias_cut(const ir::Cut& matrix);

// Tensors "<stem>.weight" [out, in] and "<stem>.bias" [out].
Linear declare_linear(WeightTable& table, const std::string& stem, const LinearSpec& spec);

ir::ValueId linear(Builder& builder, const Linear& layer, ir::ValueId x);

}  // namespace plait::models
