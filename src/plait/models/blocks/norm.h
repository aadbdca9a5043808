#pragma once

#include <string>

#include "plait/models/blocks/builder.h"
#include "plait/models/weight_table.h"

namespace plait::models {

// Division by the root mean square, then a learned scale: F32 [rows, width] -> the same.
struct RmsNormLayer {
    WeightIndex weight = 0;
    float epsilon = 0;
};

// Zero mean and unit variance, then a learned scale and shift: F32 [rows, width] -> the same.
struct LayerNormLayer {
    WeightIndex weight = 0;
    WeightIndex bias = 0;
    float epsilon = 0;
};

struct NormSpec {
    int64_t width = 0;
    float epsilon = 0;
};

// Tensor "<stem>.weight" [width].
RmsNormLayer declare_rms_norm(WeightTable& table, const std::string& stem, const NormSpec& spec);
// Tensors "<stem>.weight" and "<stem>.bias" [width].
LayerNormLayer declare_layer_norm(WeightTable& table, const std::string& stem, const NormSpec& spec);

ir::ValueId norm(Builder& builder, const RmsNormLayer& layer, ir::ValueId x);
ir::ValueId norm(Builder& builder, const LayerNormLayer& layer, ir::ValueId x);

}  // namespace plait::models
