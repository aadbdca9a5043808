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

enum class Bias : uint8_t { optional, required };

struct LinearSpec {
    int64_t out = 0;
    int64_t in = 0;
    ir::Role role = ir::Role::replicated;
    Bias bias = Bias::optional;
};

// A bias lies along the output features: it shares the matrix's role if that is about them, and is replicated
// if it is about the input features.
ir::Role bias_role(ir::Role matrix);

// Tensors "<stem>.weight" [out, in] and "<stem>.bias" [out].
Linear declare_linear(WeightTable& table, const std::string& stem, const LinearSpec& spec);

ir::ValueId linear(Builder& builder, const Linear& layer, ir::ValueId x);

}  // namespace plait::models
