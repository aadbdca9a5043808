#include "plait/engine/devices.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "plait/backends/cpu/cpu_device.h"
#include "plait/backends/sim/sim_device.h"
#include "plait/base/error.h"

namespace plait::engine {
namespace {

constexpr const char* kKnownDevices = "cpu, cpu:CORES (such as cpu:0-3), sim, sim:BYTES (such as sim:2G)";

// "kind:argument" or "kind".
struct DeviceText {
    std::string kind;
    std::string argument;
    bool has_argument = false;
};

DeviceText split(const std::string& text) {
    const size_t colon = text.find(':');
    if (colon == std::string::npos) return {text, {}, false};
    return {text.substr(0, colon), text.substr(colon + 1), true};
}

std::unique_ptr<device::Device> make_cpu(const DeviceText& text, const EngineOptions& options, Cores& cores) {
    backends::cpu::CpuOptions cpu{.name = options.devices,
                                  .workers = options.threads,
                                  .simd = backends::cpu::simd::parse_level(options.simd),
                                  .exact = options.exact,
                                  .repack = options.repack};
    if (text.has_argument) cpu.pins = cores.parse_list(text.argument);
    return std::make_unique<backends::cpu::CpuDevice>(cores, cpu);
}

std::unique_ptr<device::Device> make_sim(const DeviceText& text, const EngineOptions& options, Cores& cores) {
    backends::sim::SimOptions sim{.name = options.devices};
    if (text.has_argument) sim.memory_bytes = parse_bytes(text.argument);
    return std::make_unique<backends::sim::SimDevice>(cores, sim);
}

}  // namespace

void check_devices(const std::string& devices) {
    if (devices.find(',') != std::string::npos || devices.find('*') != std::string::npos) {
        throw Error(
            fmt::format("devices \"{}\": several devices cannot be plaited into one yet; name one of {}",
                        devices, kKnownDevices));
    }
    const DeviceText text = split(devices);
    if (text.kind != "cpu" && text.kind != "sim") {
        throw Error(fmt::format("device \"{}\" is unknown; known are {}", devices, kKnownDevices));
    }
    if (text.kind == "sim" && text.has_argument) parse_bytes(text.argument);
}

std::unique_ptr<device::Device> make_device(const EngineOptions& options, Cores& cores) {
    check_devices(options.devices);
    const DeviceText text = split(options.devices);
    return text.kind == "cpu" ? make_cpu(text, options, cores) : make_sim(text, options, cores);
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
