#pragma once

#include <memory>

#include "plait/models/model.h"

namespace plait::models {

// GPT-2 (Radford et al. 2019). Sequences are no longer than the file's table of positions, which the summary
// gives as max_context; keeping positions below it is the caller's duty.
std::unique_ptr<Model> load_gpt2(const gguf::File& file, const ModelOptions& options);

}  // namespace plait::models
