#pragma once

#include <cstdint>
#include <optional>

#include "plait/base/cgroup.h"

namespace plait {

// Bytes of memory_info().available that lie on one NUMA node: as great a part of it as the node has of what
// all nodes have free or would give up (page cache, reclaimable slabs). So the nodes' bytes add up to what
// the process may have, whatever the control groups grant. Nothing where the system does not tell of this
// node. Any thread.
std::optional<uint64_t> node_memory_available(int node, const ReadSystemFile& read = read_system_file);

}  // namespace plait
