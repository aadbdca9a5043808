#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "plait/engine/engine.h"

namespace plait::tools {

// Feeds the tokens, then `greedy` times the best id so far; `on_row` sees one row of logits per token fed, in
// order. Returns the greedy ids. Throws Error when it will not all fit in the context, as TextRun::extend
// does, and when interrupted.
std::vector<int32_t> greedy_logits(engine::Engine& engine, std::span<const int32_t> tokens, int64_t greedy,
                                   bool keep_cache,
                                   const std::function<void(std::span<const float>)>& on_row);

}  // namespace plait::tools
