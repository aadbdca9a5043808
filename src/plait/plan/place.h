#pragma once

#include <span>
#include <vector>

#include "plait/device/describe.h"
#include "plait/ir/graph.h"

namespace plait::plan {

// Which device runs each node: the first of the list that supports it with its weights in some layout it has.
// Views and host actions go where their input is; those without one, where the node before them is. Returns
// an index into `devices` by node. Throws Error naming the node and every device's reason when none does.
// Pure.
std::vector<int> place(const ir::Graph& graph, std::span<const device::DeviceDescription* const> devices);

}  // namespace plait::plan
