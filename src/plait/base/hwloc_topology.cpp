#include "plait/base/hwloc_topology.h"

#include <fmt/format.h>

#include "plait/base/error.h"

namespace plait {

Topology load_topology(const char* synthetic) {
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0) throw Error("cores: hwloc cannot be initialised");
    Topology topology(raw);
    if (synthetic != nullptr && hwloc_topology_set_synthetic(raw, synthetic) != 0)
        throw Error(fmt::format("cores: hwloc does not understand the machine '{}'", synthetic));
    // Devices (PCI, GPUs, disks) are slow to list and not wanted here.
    hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
    if (hwloc_topology_load(raw) != 0) throw Error("cores: hwloc cannot read this machine's topology");
    return topology;
}

}  // namespace plait
