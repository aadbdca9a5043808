#include "plait/engine/member_cores.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <set>

namespace plait::engine {
namespace {

// A node's cores, those first that share no physical core with one before them.
std::vector<int> filled(const NumaNode& node, const Cores& cores) {
    std::vector<int> order;
    for (int cpu : cores.filling()) {
        if (std::ranges::binary_search(node.cpus, cpu)) order.push_back(cpu);
    }
    return order;
}

// Workers when nobody says how many, by device; 0 for those not on cores.
std::vector<int> natural_workers(std::span<const ListedDevice> devices, std::span<const MemberCores> members,
                                 const Cores& cores) {
    std::vector<int> workers(devices.size(), 0), of_nodes(devices.size(), 0), sharing(devices.size(), 0);
    std::set<int> named;
    for (size_t i = 0; i < devices.size(); ++i) {
        if (devices[i].node != nullptr) of_nodes[i] = static_cast<int>(members[i].pins.size());
        if (devices[i].is_cpu() && members[i].pins.empty()) sharing[i] = 1;
        if (!devices[i].names_cores()) continue;
        named.insert(members[i].pins.begin(), members[i].pins.end());
        workers[i] = static_cast<int>(members[i].pins.size());
    }
    const auto add = [&](int count, std::span<const int> weights) {
        if (std::ranges::max(weights) == 0) return;
        const std::vector<int> dealt = deal(count, weights, 1);
        for (size_t i = 0; i < workers.size(); ++i) workers[i] += dealt[i];
    };
    add(cores.usable(), of_nodes);
    add(std::max(1, cores.usable() - static_cast<int>(named.size())), sharing);
    return workers;
}

}  // namespace

std::vector<int> deal(int count, std::span<const int> weights, int least) {
    const int64_t sum = std::accumulate(weights.begin(), weights.end(), int64_t{0});
    std::vector<int> dealt;
    std::vector<size_t> order(weights.size());
    std::iota(order.begin(), order.end(), size_t{0});
    for (int weight : weights) dealt.push_back(static_cast<int>(int64_t{count} * weight / sum));
    std::ranges::stable_sort(order, std::greater{},
                             [&](size_t i) { return int64_t{count} * weights[i] % sum; });
    const int left = count - std::accumulate(dealt.begin(), dealt.end(), 0);
    for (int i = 0; i < left; ++i) ++dealt[order[static_cast<size_t>(i)]];
    for (size_t i = 0; i < dealt.size(); ++i) {
        if (weights[i] > 0) dealt[i] = std::max(dealt[i], least);
    }
    return dealt;
}

std::vector<MemberCores> deal_cores(std::span<const ListedDevice> devices, int threads, const Cores& cores) {
    std::vector<MemberCores> members(devices.size());
    for (size_t i = 0; i < devices.size(); ++i) {
        if (devices[i].names_cores()) members[i].pins = cores.parse_list(devices[i].argument);
        if (devices[i].node != nullptr) members[i].pins = filled(*devices[i].node, cores);
    }
    std::vector<int> workers = natural_workers(devices, members, cores);
    if (threads > 0 && std::ranges::any_of(devices, &ListedDevice::is_cpu))
        workers = deal(threads, workers, 1);
    for (size_t i = 0; i < members.size(); ++i) {
        members[i].workers = workers[i];
        const auto used = static_cast<size_t>(workers[i]);
        if (used < members[i].pins.size()) members[i].pins.resize(used);
    }
    return members;
}

}  // namespace plait::engine
