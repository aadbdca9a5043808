#include "plait/engine/device_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <functional>

#include "plait/base/error.h"
#include "plait/engine/devices.h"

namespace plait::engine {
namespace {

constexpr const char* kKnownDevices =
    "cpu, cpu:CORES (such as cpu:0-3), cpu*N (the cores dealt to N), cpu:numa (one for each NUMA node), sim, "
    "sim:BYTES (such as sim:2G)";

ListedDevice parse_device(const std::string& text) {
    ListedDevice device{.text = text};
    const size_t colon = text.find(':');
    device.kind = text.substr(0, colon);
    device.has_argument = colon != std::string::npos;
    if (device.has_argument) device.argument = text.substr(colon + 1);
    if (!is_known_kind(device.kind))
        throw Error(fmt::format("device \"{}\" is unknown; known are {}", text, kKnownDevices));
    if (device.kind == "sim" && device.has_argument) parse_bytes(device.argument);
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

void check_size(std::span<const ListedDevice> devices) {
    if (devices.size() > kMostDevices)
        throw Error(fmt::format("expected at most {} devices, found {}", kMostDevices, devices.size()));
}

// A comma that goes on with a core number belongs to a list of cores.
std::vector<std::string> texts_of(const std::string& list) {
    std::vector<std::string> texts(1);
    for (size_t i = 0; i < list.size(); ++i) {
        const bool cores = i + 1 < list.size() && std::isdigit(static_cast<unsigned char>(list[i + 1])) != 0;
        if (list[i] == ',' && !cores) {
            texts.emplace_back();
        } else {
            texts.back() += list[i];
        }
    }
    return texts;
}

void check_count(const ListedDevice& device, int count, const std::string& text) {
    if (count > 1 && device.names_cores())
        throw Error(
            fmt::format("device \"{}\": which of these cores each member is to have is not said; name them, "
                        "as in cpu:0-1,cpu:2-3",
                        text));
    if (count > 1 && device.is_numa())
        throw Error(fmt::format(
            "device \"{}\": cpu:numa has a member for each NUMA node; leave out the count", text));
}

}  // namespace

std::vector<ListedDevice> parse_device_list(const std::string& list) {
    std::vector<ListedDevice> devices;
    for (const std::string& text : texts_of(list)) {
        const size_t star = text.find('*');
        const int count = star == std::string::npos ? 1 : parse_count(text.substr(star + 1), text);
        const ListedDevice device = parse_device(text.substr(0, star));
        check_count(device, count, text);
        devices.insert(devices.end(), static_cast<size_t>(count), device);
    }
    check_size(devices);
    if (std::ranges::any_of(devices, &ListedDevice::is_numa) &&
        std::ranges::count_if(devices, &ListedDevice::is_cpu) > 1)
        throw Error(fmt::format(
            "devices \"{}\": cpu:numa takes all usable cores; leave out the other devices on cores", list));
    return devices;
}

std::vector<const NumaNode*> member_nodes(const Cores& cores) {
    std::vector<const NumaNode*> nodes;
    for (const NumaNode& node : cores.nodes()) nodes.push_back(&node);
    std::ranges::stable_sort(nodes, std::greater{}, [](const NumaNode* node) { return node->cpus.size(); });
    nodes.resize(std::min(nodes.size(), static_cast<size_t>(cores.usable())));
    std::ranges::sort(nodes, {}, [](const NumaNode* node) { return node->id; });
    return nodes;
}

std::vector<ListedDevice> expand_numa(std::vector<ListedDevice> devices, const Cores& cores) {
    const auto numa = std::ranges::find_if(devices, &ListedDevice::is_numa);
    if (numa == devices.end()) return devices;
    const std::vector<const NumaNode*> nodes = member_nodes(cores);
    if (nodes.size() < 2) {
        *numa = {.text = "cpu", .kind = "cpu"};
        return devices;
    }
    std::vector<ListedDevice> members(nodes.size(), *numa);
    for (size_t i = 0; i < nodes.size(); ++i) members[i].node = nodes[i];
    devices.insert(devices.erase(numa), members.begin(), members.end());
    check_size(devices);
    return devices;
}

std::vector<std::string> names_of(std::span<const ListedDevice> devices) {
    std::vector<std::string> names;
    for (const ListedDevice& device : devices) {
        const auto same = [&](const ListedDevice& other) { return other.text == device.text; };
        if (device.node != nullptr) {
            names.push_back(fmt::format("cpu:node{}", device.node->id));
        } else if (std::ranges::count_if(devices, same) == 1) {
            names.push_back(device.text);
        } else {
            const auto number = std::ranges::count_if(devices.first(names.size()), same);
            names.push_back(
                fmt::format("{}{}{}", device.kind, number, device.text.substr(device.kind.size())));
        }
    }
    return names;
}

}  // namespace plait::engine
