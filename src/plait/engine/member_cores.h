#pragma once

#include <span>
#include <vector>

#include "plait/engine/device_list.h"

// Which cores the devices of a list compute on. Pure functions.
namespace plait::engine {

struct MemberCores {
    int workers = 0;        // 0: not a device on cores
    std::vector<int> pins;  // worker k runs on pins[k % pins.size()]; none: wherever the system likes
};

// `threads` workers, or (0) all that can run at the same time. Devices that name cores have one for each,
// nodes have theirs in proportion to their cores, and what is left is dealt to the others as evenly as
// possible, the first ones getting the remainder. With `threads` and several devices, they are dealt in the
// proportion of all that. Nobody has less than one. Throws Error as Cores::parse_list does.
std::vector<MemberCores> deal_cores(std::span<const ListedDevice> devices, int threads, const Cores& cores);

// `count` things in the proportion of the weights, each at least `least` of them: those with the greatest
// remainders get what is left over, the first of equal ones. At least one weight is above 0.
std::vector<int> deal(int count, std::span<const int> weights, int least);

}  // namespace plait::engine
