#pragma once

#include <span>

#include "plait/backends/cpu/kernel.h"

// Collectives among members that reach each other's memory: at a meeting every member's term is there, and
// who needs something of it reads it in place. A call has its own member's operands and KernelCall::meeting.
namespace plait::backends::cpu {

// An item is what a member makes for itself.
const Kernel& meeting_kernel(const ir::Op& op);

// The ops that meeting_kernel() knows.
std::span<const ir::OpId> meeting_ops();

// Whether the meeting's work is dealt to all threads of the group: sums of many values, of which each thread
// makes a slice for all members, where otherwise every member would add up all of them.
bool is_dealt(const KernelCall& call);
void run_slice(const KernelCall& call, int slice, int slices);

// From so many bytes of a term on the work is dealt. With two threads that meet in 0.1 us dealing is worth
// its second meeting from 2 KiB on; more for threads that take longer to meet (docs/performance.md).
inline constexpr int64_t kDealtBytes = int64_t{8} << 10;

}  // namespace plait::backends::cpu
