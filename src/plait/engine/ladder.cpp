#include "plait/engine/ladder.h"

#include <algorithm>

#include "plait/base/ensure.h"

namespace plait::engine {

std::vector<ir::Capacity> capacity_ladder(int64_t micro_batch, int64_t max_sequences, int64_t max_outputs) {
    const int64_t decode = std::min(max_sequences, micro_batch);
    std::vector<ir::Capacity> ladder = {{decode, std::min(decode, max_outputs), decode}};
    const auto add = [&](int64_t tokens) {
        ladder.push_back({tokens, std::min(tokens, max_outputs), std::min(tokens, max_sequences)});
    };
    for (int64_t tokens = 2; tokens < micro_batch; tokens *= 2) {
        if (tokens > decode) add(tokens);
    }
    if (micro_batch > decode) add(micro_batch);
    return ladder;
}

size_t smallest_fit(std::span<const ir::Capacity> ladder, const ir::Capacity& counts) {
    const auto fits = [&](const ir::Capacity& capacity) {
        return capacity.tokens >= counts.tokens && capacity.outputs >= counts.outputs &&
               capacity.sequences >= counts.sequences;
    };
    const auto place = std::ranges::find_if(ladder, fits);
    ENSURE(place != ladder.end(), "a step within the limits fits the largest capacity");
    return static_cast<size_t>(place - ladder.begin());
}

}  // namespace plait::engine
