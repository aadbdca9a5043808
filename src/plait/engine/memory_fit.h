#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plait/engine/prepared.h"

// Whether what the members hold fits into the memories they have, of which some members may share one, and
// what would.
namespace plait::engine {

// Bytes that a member may take: members in one memory have it together, each as much of it as the others
// leave.
int64_t free_memory(const Prepared& prepared, size_t member);

// Throws Error, with what is needed and what is free, when the device's memory does not suffice.
void require_memory(const Prepared& prepared);

// Bytes, of the memory that lacks most; negative when all have enough.
int64_t missing_memory(const Prepared& prepared);

// Bytes of state that there can be in all so that no memory lacks anything; 0 or less when less state does
// not help.
int64_t affordable_state(const Prepared& prepared);

// Shares by the room that each member has beside what it holds whole; empty where that says nothing.
std::vector<double> shares_by_memory(const Prepared& prepared);

// What speed asks for, `wanted`, as far as there is room; empty where that says nothing.
std::vector<double> shares_by_speed_and_memory(const Prepared& prepared, const std::vector<double>& wanted);

}  // namespace plait::engine
