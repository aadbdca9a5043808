#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plait/base/cores.h"
#include "plait/device/device.h"
#include "plait/engine/options.h"

// The composition root: the one place that names backends.
namespace plait::engine {

// Makes the device that options.devices asks for, a list with commas of `cpu` (all usable cores), `cpu:0-3`
// (those cores), `cpu*3` (usable cores dealt out to three members, which share them if there are fewer),
// `cpu:numa` (a member for every NUMA node, on its cores and in its memory; as `cpu` where there is one),
// `sim` or `sim:2G` (a simulated accelerator with its own memory), `sim*2`. Several are made into one, as
// options.split says. With options.described it is made of those instead, and only plans: it takes neither
// threads nor memory. Throws Error for an unknown or malformed device, naming the known ones, and for a split
// that does not fit the list. `cores` outlives the device.
std::unique_ptr<device::Device> make_device(const EngineOptions& options, Cores& cores);

// The devices alone, in order; with mode `none` the main one. Throws Error as make_device does.
std::vector<std::unique_ptr<device::Device>> make_members(const EngineOptions& options, Cores& cores);

// What a person should know of how the list was understood: that `cpu:numa` has fewer members than one may
// think. Empty where there is nothing to say.
std::string device_notes(const EngineOptions& options, const Cores& cores);

// Kinds of device that this build knows, for DescribedDevice::like.
bool is_known_kind(const std::string& kind);
inline constexpr const char* kKnownKinds = "cpu, sim";

// Throws Error unless `devices` is a device list that make_device understands; asks no device. Returns how
// many devices it names.
int check_devices(const std::string& devices);

// Bytes of a size like "2G", "512M", "4096": a whole number, with a power-of-two suffix K, M, G or T. Throws
// Error.
int64_t parse_bytes(const std::string& text);

}  // namespace plait::engine
