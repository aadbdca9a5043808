#include "plait/base/core_map.h"

#include <algorithm>
#include <map>
#include <utility>

#include "plait/base/cgroup.h"
#include "plait/base/error.h"
#include "plait/base/hwloc_topology.h"

namespace plait {
namespace {

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

// Those with the fewest cores first: a node of memory alone (high-bandwidth memory, CXL) shows the cores of
// its neighbours, which are to have them.
std::vector<hwloc_obj_t> nodes_by_extent(hwloc_topology_t topology) {
    std::vector<hwloc_obj_t> nodes;
    hwloc_obj_t object = nullptr;
    while ((object = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, object)) != nullptr)
        nodes.push_back(object);
    const auto extent = [](hwloc_obj_t node) {
        return std::pair(hwloc_bitmap_weight(node->cpuset), node->os_index);
    };
    std::ranges::sort(nodes, {}, extent);
    return nodes;
}

std::vector<NumaNode> nodes_of(hwloc_topology_t topology, hwloc_const_bitmap_t usable) {
    std::vector<NumaNode> nodes;
    Bitmap left(hwloc_bitmap_dup(usable));
    Bitmap here(hwloc_bitmap_alloc());
    for (hwloc_obj_t object : nodes_by_extent(topology)) {
        hwloc_bitmap_and(here.get(), object->cpuset, left.get());
        if (hwloc_bitmap_iszero(here.get())) continue;
        hwloc_bitmap_andnot(left.get(), left.get(), here.get());
        nodes.push_back({.id = static_cast<int>(object->os_index), .cpus = cores_of(here.get())});
    }
    std::ranges::sort(nodes, {}, &NumaNode::id);
    // Cores whose own memory this process may not use (cpuset.mems) read another node's.
    if (!nodes.empty() && !hwloc_bitmap_iszero(left.get())) {
        std::vector<int>& cpus = nodes.front().cpus;
        for (int cpu : cores_of(left.get())) cpus.push_back(cpu);
        std::ranges::sort(cpus);
    }
    return nodes;
}

// Logical cores of one physical core share its units: first come those that have one to themselves.
std::vector<int> filling_order(hwloc_topology_t topology, const std::vector<int>& cpus) {
    std::map<hwloc_obj_t, int> taken;
    std::vector<std::pair<int, int>> order;  // how many of the same core come before, the core
    for (int cpu : cpus) {
        hwloc_obj_t unit = hwloc_get_pu_obj_by_os_index(topology, static_cast<unsigned>(cpu));
        hwloc_obj_t core =
            unit == nullptr ? nullptr : hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, unit);
        order.emplace_back(core == nullptr ? 0 : taken[core]++, cpu);
    }
    std::ranges::sort(order);
    std::vector<int> filled;
    for (const auto& [before, cpu] : order) filled.push_back(cpu);
    return filled;
}

CoreMap map_of(hwloc_topology_t topology, hwloc_const_bitmap_t usable, double quota) {
    CoreMap map{.cpus = cores_of(usable), .quota = quota};
    map.filling = filling_order(topology, map.cpus);
    map.caches = caches_of(topology, map.cpus.front());
    map.nodes = nodes_of(topology, usable);
    return map;
}

Bitmap set_of(const std::vector<int>& numbers) {
    Bitmap set(hwloc_bitmap_alloc());
    for (int number : numbers) hwloc_bitmap_set(set.get(), static_cast<unsigned>(number));
    return set;
}

}  // namespace

CoreMap detect_cores() {
    const Topology topology = load_topology();
    return map_of(topology.get(), affinity_of_this_thread(topology.get()).get(), cgroup_cpu_quota());
}

CoreMap imagine_cores(const ImaginedMachine& machine) {
    const Topology topology = load_topology(machine.topology.c_str());
    Bitmap usable(hwloc_bitmap_dup(hwloc_topology_get_topology_cpuset(topology.get())));
    if (!machine.usable.empty()) hwloc_bitmap_and(usable.get(), usable.get(), set_of(machine.usable).get());
    if (hwloc_bitmap_iszero(usable.get()))
        throw Error("cores: the imagined machine has none of the cores that may be used");
    if (!machine.memory_nodes.empty() &&
        hwloc_topology_restrict(topology.get(), set_of(machine.memory_nodes).get(),
                                HWLOC_RESTRICT_FLAG_BYNODESET) != 0)
        throw Error("cores: the imagined machine has none of the nodes that may be used");
    return map_of(topology.get(), usable.get(), machine.quota);
}

}  // namespace plait
