#pragma once

#include <vector>

#include "plait/collectives/lower.h"

// What collectives cost, counted from what they were lowered to.
namespace plait::collectives {

// Of one collective, bytes for one row of the values that it exchanges.
struct Cost {
    int64_t link = 0;     // through the busiest member's link, one way, in all rounds
    int64_t moved = 0;    // of all moves
    int64_t scratch = 0;  // of others' values that one member keeps at the same time, the most
};

// By collective, in order. Pure.
std::vector<Cost> costs(const LoweredGraphs& lowered);

}  // namespace plait::collectives
