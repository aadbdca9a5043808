#pragma once

#include <optional>
#include <string>
#include <variant>

#include "plait/models/blocks/builder.h"
#include "plait/models/weight_table.h"

namespace plait::models {

// Division by the root mean square, then a learned scale: F32 [rows, width] -> the same.
struct RmsNormLayer {
    WeightIndex weight = 0;
    float epsilon = 0;
};

// Zero mean and unit variance, then a learned scale and, if there is one, shift: F32 [rows, width] -> the
// same.
struct LayerNormLayer {
    WeightIndex weight = 0;
    std::optional<WeightIndex> bias;
    float epsilon = 0;
};

using Norm = std::variant<RmsNormLayer, LayerNormLayer>;

enum class NormKind : uint8_t { rms, layer };

struct NormForm {
    NormKind kind = NormKind::rms;
    Presence bias = Presence::absent;  // of layer norms
};

struct NormSpec {
    int64_t width = 0;
    float epsilon = 0;
};

// Of norms of either kind: the weight is [width], or [heads, width] with a row for each head.
struct NormWeightSpec {
    ir::Shape shape;
    ir::Cut cut;
    float epsilon = 0;
};

// Tensor "<stem>.weight" [width].
RmsNormLayer declare_rms_norm(WeightTable& table, const std::string& stem, const NormSpec& spec);
// Tensors "<stem>.weight" and, as the form says, "<stem>.bias".
Norm declare_norm(WeightTable& table, const std::string& stem, const NormForm& form,
                  const NormWeightSpec& spec);

ir::ValueId norm(Builder& builder, const RmsNormLayer& layer, ir::ValueId x);
ir::ValueId norm(Builder& builder, const LayerNormLayer& layer, ir::ValueId x);
ir::ValueId norm(Builder& builder, const Norm& layer, ir::ValueId x);

}  // namespace plait::models
