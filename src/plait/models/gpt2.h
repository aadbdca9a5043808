#pragma once

#include <memory>

#include "plait/models/model.h"

namespace plait::models {

// GPT-2 (Radford et al. 2019). A sequence is no longer than the file's table of positions.
std::unique_ptr<Model> load_gpt2(const gguf::File& file, const ModelOptions& options);

}  // namespace plait::models
