#pragma once

#include <memory>

#include "plait/models/model.h"

namespace plait::models {

// Gemma 2 (Gemma Team 2024): local and global layers take turns, and scores and logits are capped.
std::unique_ptr<Model> load_gemma2(const gguf::File& file, const ModelOptions& options);

}  // namespace plait::models
