#pragma once

#include <memory>

#include "plait/models/model.h"

namespace plait::models {

// Llama (Touvron et al. 2023) and models of its form, dense or with experts (Mixtral, Jiang et al. 2024).
std::unique_ptr<Model> load_llama(const gguf::File& file, const ModelOptions& options);

}  // namespace plait::models
