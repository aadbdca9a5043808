#pragma once

#include "plait/backends/cpu/program.h"

namespace plait::backends::cpu {

struct Lowered {
    std::vector<Segment> segments;
    int64_t scratch_bytes = 0;    // intermediate values
    int64_t workspace_bytes = 0;  // of one worker, the largest any kernel asks for
};

// A graph as steps: kernels chosen from the table, each value that a kernel wants quantised gets one
// quantising step for all its readers, barriers only where a step needs what was made since the last one,
// every intermediate value placed. Throws Error naming the first node that no kernel takes. Steps point into
// `graph` and `kernels`. With `meets` the graph is one of a group's members and may have collectives.
Lowered lower(const ir::Graph& graph, const device::DeviceDescription& device,
              std::span<const Kernel> kernels, std::span<const int> layouts, bool meets = false);

}  // namespace plait::backends::cpu
