#include "plait/engine/memory_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <string>

#include "plait/base/error.h"
#include "plait/engine/shares.h"

namespace plait::engine {
namespace {

// One memory, with what the members that have it together need of it.
struct SharedMemory {
    int64_t free = std::numeric_limits<int64_t>::max();
    int64_t needed = 0;
    int64_t state = 0;  // part of what is needed
    int members = 0;

    int64_t missing() const { return needed - free; }
};

std::map<std::string, SharedMemory> memories_of(const Prepared& prepared) {
    std::map<std::string, SharedMemory> memories;
    for (size_t member = 0; member < prepared.members.size(); ++member) {
        const device::DeviceDescription& device = prepared.device->describe().member(member);
        SharedMemory& memory = memories[device.memory];
        memory.free = std::min(memory.free, device.memory_bytes);
        memory.needed += prepared.members[member].total();
        memory.state += prepared.members[member].state;
        ++memory.members;
    }
    return memories;
}

// Bytes that each member has beside what it holds whole; those in one memory have as much each.
std::vector<double> rooms_of(const Prepared& prepared) {
    const auto memories = memories_of(prepared);
    std::vector<double> rooms;
    for (size_t member = 0; member < prepared.members.size(); ++member) {
        const MemoryNeeds& needs = prepared.members[member];
        const SharedMemory& memory = memories.at(prepared.device->describe().member(member).memory);
        const int64_t room =
            memory.free / memory.members - std::min(needs.mirrored, needs.weights) - needs.compute;
        rooms.push_back(static_cast<double>(std::max<int64_t>(0, room)));
    }
    return rooms;
}

}  // namespace

int64_t free_memory(const Prepared& prepared, size_t member) {
    const auto memories = memories_of(prepared);
    const SharedMemory& memory = memories.at(prepared.device->describe().member(member).memory);
    return memory.free - (memory.needed - prepared.members[member].total());
}

int64_t missing_memory(const Prepared& prepared) {
    int64_t missing = std::numeric_limits<int64_t>::min();
    for (const auto& [name, memory] : memories_of(prepared)) missing = std::max(missing, memory.missing());
    return missing;
}

int64_t affordable_state(const Prepared& prepared) {
    double part = 1;
    for (const auto& [name, memory] : memories_of(prepared)) {
        if (memory.missing() <= 0) continue;
        if (memory.state == 0) return 0;
        part = std::min(part, 1 - static_cast<double>(memory.missing()) / static_cast<double>(memory.state));
    }
    return static_cast<int64_t>(part * static_cast<double>(prepared.memory.state));
}

std::vector<double> shares_by_memory(const Prepared& prepared) {
    const std::vector<double> rooms = rooms_of(prepared);
    return std::accumulate(rooms.begin(), rooms.end(), 0.0) > 0 ? rooms : std::vector<double>();
}

std::vector<double> shares_by_speed_and_memory(const Prepared& prepared, const std::vector<double>& wanted) {
    // Parts are whole heads and blocks: somewhat less than the room.
    constexpr double kMargin = 15.0 / 16;
    double divided = 0;
    for (const MemoryNeeds& needs : prepared.members)
        divided += static_cast<double>(needs.weights - std::min(needs.mirrored, needs.weights) + needs.state);
    std::vector<double> limits = rooms_of(prepared);
    for (double& limit : limits) limit *= kMargin / divided;
    return within_limits(wanted, limits);
}

void require_memory(const Prepared& prepared) {
    for (size_t member = 0; member < prepared.members.size(); ++member) {
        const MemoryNeeds& needs = prepared.members[member];
        const device::DeviceDescription& device = prepared.device->describe().member(member);
        const int64_t free = free_memory(prepared, member);
        if (needs.total() <= free) continue;
        throw Error(
            fmt::format("{}: the model needs {} bytes of memory (weights {}, cache {}, compute {}) and {} "
                        "are free; a smaller "
                        "context (-c) or micro-batch (-ub) needs less",
                        device.name, needs.total(), needs.weights, needs.state, needs.compute, free));
    }
}

}  // namespace plait::engine
