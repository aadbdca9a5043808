#pragma once

#include <span>
#include <vector>

#include "plait/ir/step.h"

namespace plait::engine {

// The capacities an engine compiles: one for pure decode (a token per sequence, all with logits), then powers
// of two of tokens up to the micro-batch, which is the last. Ascending in tokens.
std::vector<ir::Capacity> capacity_ladder(int64_t micro_batch, int64_t max_sequences, int64_t max_outputs);

// The place of the smallest capacity that holds the counts; every step that keeps the engine's limits has
// one.
size_t smallest_fit(std::span<const ir::Capacity> ladder, const ir::Capacity& counts);

}  // namespace plait::engine
