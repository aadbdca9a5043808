#include "plait/engine/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <optional>
#include <vector>

#include "plait/backends/cpu/cpu_device.h"
#include "plait/backends/meta/meta_device.h"
#include "plait/backends/sim/sim_device.h"
#include "plait/base/error.h"
#include "plait/engine/plan_only.h"

namespace plait::engine {
namespace {

constexpr const char* kKnownDevices =
    "cpu, cpu:CORES (such as cpu:0-3), cpu*N (the cores dealt to N), sim, sim:BYTES (such as sim:2G)";
constexpr int kMostDevices = 256;

// One device of a list.
struct DeviceText {
    std::string text;  // as it was written, without the count
    std::string kind;
    std::string argument;
    bool has_argument = false;
};

DeviceText parse_device(const std::string& text) {
    DeviceText device{.text = text};
    const size_t colon = text.find(':');
    device.kind = text.substr(0, colon);
    device.has_argument = colon != std::string::npos;
    if (device.has_argument) device.argument = text.substr(colon + 1);
    if (!is_known_kind(device.kind))
        throw Error(fmt::format("device \"{}\" is unknown; known are {}", text, kKnownDevices));
    if (device.kind == "sim" && device.has_argument) parse_bytes(device.argument);
    if (device.kind == "cpu" && device.argument == "numa")
        throw Error(
            "device \"cpu:numa\": a member for each NUMA node is not there yet; name the cores of each");
    return device;
}

int parse_count(const std::string& text, const std::string& device) {
    int count = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (fault != std::errc() || end != text.data() + text.size() || count < 1 || count > kMostDevices)
        throw Error(
            fmt::format("device \"{}\": expected a count from 1 to {} behind *", device, kMostDevices));
    return count;
}

// "cpu*2,sim:1G" -> cpu, cpu, sim:1G. A comma that goes on with a core number belongs to a list of cores.
std::vector<DeviceText> parse_devices(const std::string& list) {
    std::vector<std::string> texts(1);
    for (size_t i = 0; i < list.size(); ++i) {
        const bool cores = i + 1 < list.size() && std::isdigit(static_cast<unsigned char>(list[i + 1])) != 0;
        if (list[i] == ',' && !cores) {
            texts.emplace_back();
        } else {
            texts.back() += list[i];
        }
    }
    std::vector<DeviceText> devices;
    for (const std::string& text : texts) {
        const size_t star = text.find('*');
        const int count = star == std::string::npos ? 1 : parse_count(text.substr(star + 1), text);
        const DeviceText device = parse_device(text.substr(0, star));
        if (count > 1 && device.kind == "cpu" && device.has_argument)
            throw Error(fmt::format(
                "device \"{}\": which of these cores each member is to have is not said; name them, "
                "as in cpu:0-1,cpu:2-3",
                text));
        devices.insert(devices.end(), static_cast<size_t>(count), device);
    }
    if (devices.size() > kMostDevices)
        throw Error(fmt::format("expected at most {} devices, found {}", kMostDevices, devices.size()));
    return devices;
}

// The texts themselves, numbered where the same stands several times.
std::vector<std::string> names_of(const std::vector<DeviceText>& devices) {
    std::vector<std::string> names;
    for (const DeviceText& device : devices) {
        const auto same = [&](const DeviceText& other) { return other.text == device.text; };
        if (std::ranges::count_if(devices, same) == 1) {
            names.push_back(device.text);
            continue;
        }
        const auto before = static_cast<std::ptrdiff_t>(names.size());
        const auto number = std::count_if(devices.begin(), devices.begin() + before, same);
        names.push_back(fmt::format("{}{}{}", device.kind, number, device.text.substr(device.kind.size())));
    }
    return names;
}

// Workers of each device that is given no cores of its own: those wanted, or all usable ones, dealt out.
std::vector<int> deal_workers(const std::vector<DeviceText>& devices, const EngineOptions& options,
                              const Cores& cores) {
    const auto shares = [](const DeviceText& device) { return device.kind == "cpu" && !device.has_argument; };
    const auto sharers = static_cast<int>(std::ranges::count_if(devices, shares));
    std::vector<int> workers(devices.size(), options.threads);
    if (sharers <= 1) return workers;
    const int threads = options.threads > 0 ? options.threads : cores.usable();
    int next = 0;
    for (size_t i = 0; i < devices.size(); ++i) {
        if (!shares(devices[i])) continue;
        workers[i] = std::max(1, threads / sharers + (next++ < threads % sharers ? 1 : 0));
    }
    return workers;
}

std::unique_ptr<device::Device> make_cpu(const DeviceText& text, const std::string& name, int workers,
                                         const EngineOptions& options, Cores& cores) {
    backends::cpu::CpuOptions cpu{.name = name,
                                  .workers = workers,
                                  .simd = backends::cpu::simd::parse_level(options.simd),
                                  .exact = options.exact,
                                  .repack = options.repack};
    if (text.has_argument) cpu.pins = cores.parse_list(text.argument);
    return std::make_unique<backends::cpu::CpuDevice>(cores, cpu);
}

std::unique_ptr<device::Device> make_sim(const DeviceText& text, const std::string& name, Cores& cores) {
    backends::sim::SimOptions sim{.name = name};
    if (text.has_argument) sim.memory_bytes = parse_bytes(text.argument);
    return std::make_unique<backends::sim::SimDevice>(cores, sim);
}

std::unique_ptr<device::Device> make_described(const DescribedDevice& described, const EngineOptions& options,
                                               Cores& cores) {
    const DeviceText text{.text = described.like, .kind = described.like};
    auto like = described.like == "cpu" ? make_cpu(text, described.name, described.threads, options, cores)
                                        : make_sim(text, described.name, cores);
    device::DeviceDescription description = like->describe();
    description.kind = described.kind;
    description.memory = described.memory;
    description.memory_bytes = described.memory_bytes;
    description.workers = described.threads;
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

std::vector<std::unique_ptr<device::Device>> make_members(const EngineOptions& options, Cores& cores) {
    std::vector<std::unique_ptr<device::Device>> devices;
    if (!options.described.empty()) {
        for (const DescribedDevice& described : taking_part(options.described, options.split))
            devices.push_back(make_described(described, options, cores));
        return devices;
    }
    const std::vector<DeviceText> texts = taking_part(parse_devices(options.devices), options.split);
    const std::vector<std::string> names = names_of(texts);
    const std::vector<int> workers = deal_workers(texts, options, cores);
    for (size_t i = 0; i < texts.size(); ++i) {
        devices.push_back(texts[i].kind == "cpu" ? make_cpu(texts[i], names[i], workers[i], options, cores)
                                                 : make_sim(texts[i], names[i], cores));
    }
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

bool is_known_kind(const std::string& kind) { return kind == "cpu" || kind == "sim"; }

int check_devices(const std::string& list) {
    const std::vector<DeviceText> devices = parse_devices(list);
    std::optional<Cores> cores;
    for (const DeviceText& device : devices) {
        if (device.kind != "cpu" || !device.has_argument) continue;
        if (!cores) cores.emplace();
        cores->parse_list(device.argument);
    }
    return static_cast<int>(devices.size());
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
