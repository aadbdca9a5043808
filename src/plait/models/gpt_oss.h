#pragma once

#include <memory>

#include "plait/models/model.h"

namespace plait::models {

// gpt-oss (Agarwal et al. 2025): a mixture of experts with biases throughout, whose attention has a sink per
// head and looks at a window in every other layer.
std::unique_ptr<Model> load_gpt_oss(const gguf::File& file, const ModelOptions& options);

}  // namespace plait::models
