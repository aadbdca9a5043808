#pragma once

#include <cstdint>
#include <limits>
#include <string>
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
    // The same, in the order in which to use them when not all are: one of every physical core, then a second
    // one of each. Empty: as `cpus`.
    std::vector<int> filling = {};
    double quota =
        std::numeric_limits<double>::infinity();  // processor seconds per second that cgroups grant
    CacheSizes caches = {};                       // of the first core in `cpus`
    std::vector<NumaNode> nodes = {};             // those with at least one usable core, by id
};

// Asks the system: the calling thread's affinity, caches and NUMA nodes through hwloc (without looking for
// devices), the cgroup quota from the cgroup files. Throws Error when hwloc cannot read the machine. Takes
// some milliseconds.
CoreMap detect_cores();

// A machine that is not here, for tests.
struct ImaginedMachine {
    std::string topology;           // as hwloc's synthetic backend describes machines: "numa:2 core:4 pu:2"
    std::vector<int> usable;        // logical cores that the process may use; empty: all
    std::vector<int> memory_nodes;  // whose memory it may use; empty: all
    double quota = std::numeric_limits<double>::infinity();
};
// What detect_cores() would tell there. Throws Error when hwloc does not understand the description.
CoreMap imagine_cores(const ImaginedMachine& machine);

}  // namespace plait
