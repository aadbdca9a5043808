#pragma once

#include <span>
#include <string>
#include <vector>

#include "plait/base/core_map.h"
#include "plait/base/cores.h"

// What people write behind --devices. Pure functions.
namespace plait::engine {

inline constexpr int kMostDevices = 256;

// One device of a list.
struct ListedDevice {
    std::string text;  // as it was written, without the count
    std::string kind;
    std::string argument;
    bool has_argument = false;
    const NumaNode* node = nullptr;  // of `cpu:numa`, once expanded: the node it is; Cores owns it

    bool is_cpu() const { return kind == "cpu"; }
    // A device for every NUMA node, or one of those.
    bool is_numa() const { return is_cpu() && argument == "numa"; }
    // "0-3" of `cpu:0-3`.
    bool names_cores() const { return is_cpu() && has_argument && !is_numa(); }
};

// "cpu*2,sim:1G" -> cpu, cpu, sim:1G. Throws Error for an unknown or malformed device, naming the known ones,
// and for `cpu:numa` beside other devices on cores, which it takes all of. Does not ask which cores there
// are.
std::vector<ListedDevice> parse_device_list(const std::string& list);

// The nodes that get a member of `cpu:numa`, by id: those with usable cores; if the process is granted the
// time of fewer processors than there are nodes, those with the most cores. None where the system tells of no
// nodes.
std::vector<const NumaNode*> member_nodes(const Cores& cores);

// With a device for every one of these nodes in place of `cpu:numa`; `cpu` where there are fewer than two.
std::vector<ListedDevice> expand_numa(std::vector<ListedDevice> devices, const Cores& cores);

// The texts themselves, numbered where the same stands several times; `cpu:node2` for a node.
std::vector<std::string> names_of(std::span<const ListedDevice> devices);

}  // namespace plait::engine
