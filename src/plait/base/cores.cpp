#include "plait/base/cores.h"

#include <fmt/format.h>
#include <hwloc.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "plait/base/cgroup.h"
#include "plait/base/ensure.h"
#include "plait/base/error.h"
#include "plait/base/text_fields.h"

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

int usable_cores(const CoreMap& map) {
    const double cpus = static_cast<double>(map.cpus.size());
    return std::max(1, static_cast<int>(std::min(cpus, std::ceil(map.quota))));
}

// Ranges are inclusive: "4" or "0-3".
std::pair<int, int> parse_range(std::string_view text) {
    const size_t dash = text.find('-');
    const auto first = parse_number<int>(text.substr(0, dash));
    const auto last = dash == text.npos ? first : parse_number<int>(text.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first)
        throw Error(fmt::format("cores: expected a core like '4' or a range like '0-3', found '{}'", text));
    return {*first, *last};
}

// "0-3, 8": the inverse of parse_list for messages.
std::string format_list(const std::vector<int>& cpus) {
    std::string text;
    for (size_t begin = 0; begin < cpus.size();) {
        size_t end = begin + 1;
        while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1) ++end;
        if (!text.empty()) text += ',';
        text += end - begin == 1 ? fmt::format("{}", cpus[begin])
                                 : fmt::format("{}-{}", cpus[begin], cpus[end - 1]);
        begin = end;
    }
    return text;
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

Cores::Cores(CoreMap map) : map_(std::move(map)), usable_(usable_cores(map_)) {
    ENSURE(!map_.cpus.empty(), "a process runs on at least one core");
    ENSURE(std::is_sorted(map_.cpus.begin(), map_.cpus.end()), "core lists are ascending");
}

std::vector<int> Cores::parse_list(std::string_view list) const {
    std::vector<int> chosen;
    for (std::string_view part : split(list, ',')) {
        const auto [first, last] = parse_range(part);
        for (int cpu = first; cpu <= last; ++cpu) {
            if (!std::binary_search(map_.cpus.begin(), map_.cpus.end(), cpu))
                throw Error(
                    fmt::format("cores: core {} of '{}' is not among the cores this process may use ({})",
                                cpu, list, format_list(map_.cpus)));
            if (std::find(chosen.begin(), chosen.end(), cpu) != chosen.end())
                throw Error(fmt::format("cores: core {} is named twice in '{}'", cpu, list));
            chosen.push_back(cpu);
        }
    }
    return chosen;
}

std::vector<int> Cores::deal(int members) const {
    ENSURE(members >= 1, "cores are dealt to at least one member");
    std::vector<int> shares(static_cast<size_t>(members), usable_ / members);
    std::fill_n(shares.begin(), usable_ % members, usable_ / members + 1);
    for (int& share : shares) share = std::max(share, 1);
    return shares;
}

Cores::Lease Cores::lease(int workers, std::span<const int> pins) {
    ENSURE(workers >= 1, "a lease is for at least one worker");
    return Lease(*this, workers, {pins.begin(), pins.end()});
}

void Cores::add(int workers, std::span<const int> pins, int sign) {
    std::lock_guard lock(mutex_);
    live_.fetch_add(sign * workers, std::memory_order_relaxed);
    for (int worker = 0; worker < workers && !pins.empty(); ++worker)
        pinned_[pins[static_cast<size_t>(worker) % pins.size()]] += sign;
    const bool shared_core =
        std::any_of(pinned_.begin(), pinned_.end(), [](const auto& core) { return core.second > 1; });
    crowded_.store(live_workers() > usable_ || shared_core, std::memory_order_relaxed);
}

Cores::Lease::Lease(Cores& cores, int workers, std::vector<int> pins)
    : cores_(&cores), workers_(workers), pins_(std::move(pins)) {
    cores_->add(workers_, pins_, +1);
}

Cores::Lease::Lease(Lease&& other) noexcept
    : cores_(std::exchange(other.cores_, nullptr)), workers_(other.workers_), pins_(std::move(other.pins_)) {}

Cores::Lease::~Lease() {
    if (cores_ != nullptr) cores_->add(workers_, pins_, -1);
}

}  // namespace plait
