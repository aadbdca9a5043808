#pragma once

#include <cstdint>

// For tests only: linking allocation_counter.cpp into a test binary replaces the global operator new by one
// that counts.
namespace plait::state {

// Allocations of this process so far, from any thread.
int64_t allocation_count();

}  // namespace plait::state
