#pragma once

#include <memory>

#include "plait/models/model.h"

namespace plait::models {

// The text model of Gemma 3 (Gemma Team 2025): five local layers for each global one, whose positions turn at
// rates of their own, and norms of queries and keys.
std::unique_ptr<Model> load_gemma3(const gguf::File& file, const ModelOptions& options);

}  // namespace plait::models
