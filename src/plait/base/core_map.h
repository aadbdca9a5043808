#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace plait {

// Bytes of the data caches that one core reaches; 0 = there is none, or the system does not say.
struct CacheSizes {
    uint64_t l1d = 0;
    uint64_t l2 = 0;
    uint64_t l3 = 0;
};

// A NUMA node and those of its cores that this process may run on, ascending.
struct NumaNode {
    int id = 0;
    std::vector<int> cpus;
};

// What the operating system lets this process use. A plain value, so that tests can describe other machines.
struct CoreMap {
    std::vector<int> cpus;  // logical cores by the system's numbers, ascending, at least one
    double quota =
        std::numeric_limits<double>::infinity();  // processor seconds per second that cgroups grant
    CacheSizes caches;                            // of the first core in `cpus`
    std::vector<NumaNode> nodes;                  // those with at least one usable core, by id
};

// Asks the system: the calling thread's affinity, caches and NUMA nodes through hwloc (without looking for
// devices), the cgroup quota from the cgroup files. Throws Error when hwloc cannot read the machine. Takes
// some milliseconds.
CoreMap detect_cores();

}  // namespace plait
