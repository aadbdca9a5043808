#pragma once

#include <span>
#include <vector>

#include "plait/device/describe.h"
#include "plait/ir/graph.h"

namespace plait::plan {

// Which buffer type of a device stores each weight: the first, in the device's order of preference, that
// every reader of the weight in every graph can take. Once per weight, over all readers in all programs, so
// that a weight is stored once. Returns an index into device.buffer_types by weight index; -1 for weights
// that no graph reads. Throws Error naming weight and op when no buffer type suits all readers, and
// node and reason when the device cannot run it. Pure.
std::vector<int> choose_residency(std::span<const ir::Graph* const> graphs, size_t weight_count,
                                  const device::DeviceDescription& device);

}  // namespace plait::plan
