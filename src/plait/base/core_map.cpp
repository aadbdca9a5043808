#include "plait/base/core_map.h"

#include <hwloc.h>

#include <algorithm>
#include <memory>

#include "plait/base/cgroup.h"
#include "plait/base/error.h"

namespace plait {
namespace {

struct TopologyDeleter {
    void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDeleter>;

struct BitmapDeleter {
    void operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, BitmapDeleter>;

Topology load_topology() {
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0) throw Error("cores: hwloc cannot be initialised");
    Topology topology(raw);
    // Devices (PCI, GPUs, disks) are slow to list and not wanted here.
    hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
    if (hwloc_topology_load(raw) != 0) throw Error("cores: hwloc cannot read this machine's topology");
    return topology;
}

Bitmap affinity_of_this_thread(hwloc_topology_t topology) {
    Bitmap mask(hwloc_bitmap_alloc());
    if (hwloc_get_cpubind(topology, mask.get(), HWLOC_CPUBIND_THREAD) != 0 || hwloc_bitmap_iszero(mask.get()))
        throw Error("cores: the system does not say on which cores this process may run");
    return mask;
}

std::vector<int> cores_of(hwloc_const_bitmap_t mask) {
    std::vector<int> cpus;
    for (int cpu = hwloc_bitmap_first(mask); cpu >= 0; cpu = hwloc_bitmap_next(mask, cpu))
        cpus.push_back(cpu);
    return cpus;
}

CacheSizes caches_of(hwloc_topology_t topology, int cpu) {
    CacheSizes sizes;
    uint64_t* const by_depth[] = {&sizes.l1d, &sizes.l2, &sizes.l3};
    hwloc_obj_t object = hwloc_get_pu_obj_by_os_index(topology, static_cast<unsigned>(cpu));
    for (; object != nullptr; object = object->parent) {
        if (!hwloc_obj_type_is_dcache(object->type)) continue;
        const unsigned depth = object->attr->cache.depth;
        if (depth >= 1 && depth <= 3) *by_depth[depth - 1] = object->attr->cache.size;
    }
    return sizes;
}

// A node of memory alone (high-bandwidth memory, CXL) shows the cores of its neighbour, which has had them
// already.
std::vector<NumaNode> nodes_of(hwloc_topology_t topology, hwloc_const_bitmap_t usable) {
    std::vector<NumaNode> nodes;
    Bitmap left(hwloc_bitmap_dup(usable));
    Bitmap here(hwloc_bitmap_alloc());
    hwloc_obj_t object = nullptr;
    while ((object = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, object)) != nullptr) {
        hwloc_bitmap_and(here.get(), object->cpuset, left.get());
        if (hwloc_bitmap_iszero(here.get())) continue;
        hwloc_bitmap_andnot(left.get(), left.get(), here.get());
        nodes.push_back({.id = static_cast<int>(object->os_index), .cpus = cores_of(here.get())});
    }
    std::sort(nodes.begin(), nodes.end(), [](const NumaNode& a, const NumaNode& b) { return a.id < b.id; });
    return nodes;
}

}  // namespace

CoreMap detect_cores() {
    const Topology topology = load_topology();
    const Bitmap usable = affinity_of_this_thread(topology.get());
    CoreMap map;
    map.cpus = cores_of(usable.get());
    map.quota = cgroup_cpu_quota();
    map.caches = caches_of(topology.get(), map.cpus.front());
    map.nodes = nodes_of(topology.get(), usable.get());
    return map;
}

}  // namespace plait
