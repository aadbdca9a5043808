#include "plait/engine/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <vector>

#include "plait/backends/cpu/cpu_device.h"
#include "plait/backends/meta/meta_device.h"
#include "plait/backends/sim/sim_device.h"
#include "plait/base/error.h"
#include "plait/engine/device_list.h"
#include "plait/engine/member_cores.h"
#include "plait/engine/plan_only.h"

namespace plait::engine {
namespace {

std::unique_ptr<device::Device> make_cpu(const std::string& name, const MemberCores& on, int node,
                                         const EngineOptions& options, Cores& cores) {
    backends::cpu::CpuOptions cpu{.name = name,
                                  .workers = on.workers,
                                  .pins = on.pins,
                                  .node = node,
                                  .simd = backends::cpu::simd::parse_level(options.simd),
                                  .exact = options.exact,
                                  .repack = options.repack};
    return std::make_unique<backends::cpu::CpuDevice>(cores, cpu);
}

std::unique_ptr<device::Device> make_sim(const ListedDevice& text, const std::string& name, Cores& cores) {
    backends::sim::SimOptions sim{.name = name};
    if (text.has_argument) sim.memory_bytes = parse_bytes(text.argument);
    return std::make_unique<backends::sim::SimDevice>(cores, sim);
}

std::unique_ptr<device::Device> make_described(const DescribedDevice& described, const EngineOptions& options,
                                               Cores& cores) {
    auto like = described.like == "cpu"
                    ? make_cpu(described.name, {.workers = described.threads}, described.node, options, cores)
                    : make_sim({}, described.name, cores);
    device::DeviceDescription description = like->describe();
    description.kind = described.kind;
    description.memory = described.memory;
    description.memory_bytes = described.memory_bytes;
    description.workers = described.threads;
    description.node = described.node;
    description.details = fmt::format("{}, described only", described.kind);
    return std::make_unique<PlanOnlyDevice>(std::move(like), std::move(description));
}

// Those that take part: with mode `none` the main one.
template <class Named>
std::vector<Named> taking_part(std::vector<Named> devices, const SplitOptions& split) {
    if (split.main_device < 0 || static_cast<size_t>(split.main_device) >= devices.size())
        throw Error(fmt::format("the main device (--main-device) must be one of 0 to {}, found {}",
                                devices.size() - 1, split.main_device));
    if (split.mode == SplitMode::none) return {devices[static_cast<size_t>(split.main_device)]};
    return devices;
}

std::vector<double> shares_of(const SplitOptions& split, size_t devices) {
    if (split.shares.empty()) return std::vector<double>(devices, 1.0);
    if (split.shares.size() != devices)
        throw Error(
            fmt::format("the shares (-ts) name {} members, the devices {}", split.shares.size(), devices));
    plan::check_ratios(split.shares);
    return split.shares;
}

}  // namespace

std::vector<std::unique_ptr<device::Device>> make_members(const EngineOptions& options, Cores& cores) {
    std::vector<std::unique_ptr<device::Device>> devices;
    if (!options.described.empty()) {
        for (const DescribedDevice& described : taking_part(options.described, options.split))
            devices.push_back(make_described(described, options, cores));
        return devices;
    }
    const std::vector<ListedDevice> listed =
        taking_part(expand_numa(parse_device_list(options.devices), cores), options.split);
    const std::vector<std::string> names = names_of(listed);
    const std::vector<MemberCores> on = deal_cores(listed, options.threads, cores);
    for (size_t i = 0; i < listed.size(); ++i) {
        const int node = listed[i].node == nullptr ? -1 : listed[i].node->id;
        devices.push_back(listed[i].is_cpu() ? make_cpu(names[i], on[i], node, options, cores)
                                             : make_sim(listed[i], names[i], cores));
    }
    return devices;
}

bool is_known_kind(const std::string& kind) { return kind == "cpu" || kind == "sim"; }

int check_devices(const std::string& list) {
    std::vector<ListedDevice> devices = parse_device_list(list);
    const auto asks = [](const ListedDevice& device) { return device.is_cpu() && device.has_argument; };
    if (std::ranges::none_of(devices, asks)) return static_cast<int>(devices.size());
    const Cores cores;
    devices = expand_numa(std::move(devices), cores);
    deal_cores(devices, 0, cores);
    return static_cast<int>(devices.size());
}

std::string device_notes(const EngineOptions& options, const Cores& cores) {
    const bool described = !options.described.empty();
    if (described || std::ranges::none_of(parse_device_list(options.devices), &ListedDevice::is_numa))
        return {};
    const size_t nodes = cores.nodes().size();
    const std::vector<const NumaNode*> members = member_nodes(cores);
    if (nodes < 2)
        return "cpu:numa: this process has the cores of one NUMA node, which is one member, as cpu is";
    if (members.size() == nodes) return {};
    std::vector<int> ids;
    for (const NumaNode* node : members) ids.push_back(node->id);
    return fmt::format(
        "cpu:numa: of {} NUMA nodes only {} {} used, since this process is granted the time of {} "
        "processor{}{}",
        nodes, format_cores(ids), ids.size() == 1 ? "is" : "are", cores.usable(),
        cores.usable() == 1 ? "" : "s", members.size() < 2 ? ": one member, as cpu is" : "");
}

std::unique_ptr<device::Device> make_device(const EngineOptions& options, Cores& cores) {
    std::vector<std::unique_ptr<device::Device>> devices = make_members(options, cores);
    if (devices.size() == 1) return std::move(devices[0]);
    const SplitOptions& split = options.split;
    const plan::CutOptions cut{
        .ratios = shares_of(split, devices.size()), .embedding = split.embedding, .experts = split.experts};
    const std::string name = options.described.empty() ? options.devices : "described members";
    return std::make_unique<backends::meta::MetaDevice>(
        std::move(devices), backends::meta::MetaOptions{.name = name,
                                                        .cut = cut,
                                                        .reduce = split.reduce,
                                                        .by_rows = split.mode == SplitMode::row,
                                                        .main = split.main_device,
                                                        .check_members = split.check_members,
                                                        .stepped = split.stepped,
                                                        .on_move = split.on_move});
}

int64_t parse_bytes(const std::string& text) {
    constexpr std::string_view kSuffixes = "KMGT";
    int64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [rest, fault] = std::from_chars(text.data(), end, number);
    int shift = 0;
    if (end - rest == 1) {
        const size_t place = kSuffixes.find(*rest);
        if (place != std::string_view::npos) shift = 10 * (static_cast<int>(place) + 1);
    }
    const bool whole = rest == end || (end - rest == 1 && shift > 0);
    if (fault != std::errc() || !whole || number <= 0 ||
        number > (std::numeric_limits<int64_t>::max() >> shift)) {
        throw Error(fmt::format(
            "\"{}\" is no size: expected a positive whole number with an optional K, M, G or T", text));
    }
    return number << shift;
}

}  // namespace plait::engine
