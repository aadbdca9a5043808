#include "plait/tools/member_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "plait/base/error.h"
#include "plait/base/quote.h"
#include "plait/engine/device_list.h"
#include "plait/engine/devices.h"

namespace plait::tools {
namespace {

using engine::DescribedDevice;
using nlohmann::json;

constexpr int64_t kMostThreads = 1024;
constexpr uint64_t kMostNode = 1023;
constexpr size_t kMostName = 100;  // bytes of a name
// "device", "details" and "cores" are what `plait devices` calls the name and adds for people.
constexpr std::array<std::string_view, 10> kKeys = {"name",    "kind", "like",    "memory_bytes", "memory",
                                                    "threads", "node", "details", "device",       "cores"};

std::string shown(const json& value) {
    return quote(value.dump(-1, ' ', false, json::error_handler_t::replace), 40);
}

// One member of the file; `where` begins every message.
class MemberReader {
  public:
    MemberReader(const json& object, std::string where) : object_(object), where_(std::move(where)) {
        if (!object.is_object())
            refuse("expected an object with kind and memory_bytes, found " + shown(object));
        for (const auto& [key, value] : object.items()) {
            if (std::ranges::find(kKeys, key) == kKeys.end())
                refuse(
                    fmt::format("the key {} is not known; known are name, kind, like, memory_bytes, memory, "
                                "threads and node",
                                quote(key, 40)));
        }
    }

    DescribedDevice read(size_t number) const {
        DescribedDevice device;
        device.kind = text("kind", "");
        if (device.kind.empty()) refuse(fmt::format("kind is missing; known are {}", engine::kKnownKinds));
        device.like = text("like", device.kind);
        if (!engine::is_known_kind(device.like))
            refuse(fmt::format(
                "the kind {} is not known; known are {}, and \"like\" can name one of them for others",
                quote(device.like, 40), engine::kKnownKinds));
        device.name = text("name", text("device", fmt::format("{}{}", device.kind, number)));
        device.memory = text("memory", device.like == "cpu" ? "host" : device.name);
        device.memory_bytes = size("memory_bytes");
        device.threads = static_cast<int>(count("threads", 1, kMostThreads));
        device.node = node();
        return device;
    }

  private:
    [[noreturn]] void refuse(const std::string& why) const { throw Error(where_ + ": " + why); }

    std::string text(const char* key, const std::string& otherwise) const {
        const auto found = object_.find(key);
        if (found == object_.end()) return otherwise;
        if (!found->is_string() || found->get_ref<const std::string&>().empty())
            refuse(fmt::format("{} must be a text, found {}", key, shown(*found)));
        const auto& value = found->get_ref<const std::string&>();
        const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7F'; };
        if (value.size() > kMostName || std::ranges::any_of(value, is_control))
            refuse(fmt::format("{} must have at most {} bytes and no control characters, found {}", key,
                               kMostName, quote(value, 40)));
        return value;
    }

    int64_t size(const char* key) const {
        const auto found = object_.find(key);
        if (found == object_.end()) refuse(fmt::format("{} is missing: how much memory is free there?", key));
        if (found->is_string()) {
            try {
                return engine::parse_bytes(found->get<std::string>());
            } catch (const Error& error) {
                refuse(fmt::format("{}: {}", key, error.what()));
            }
        }
        return whole(key, *found, std::numeric_limits<int64_t>::max());
    }

    int64_t count(const char* key, int64_t otherwise, int64_t most) const {
        const auto found = object_.find(key);
        return found == object_.end() ? otherwise : whole(key, *found, most);
    }

    int node() const {
        const auto found = object_.find("node");
        if (found == object_.end()) return -1;
        if (!found->is_number_unsigned() || found->get<uint64_t>() > kMostNode)
            refuse(
                fmt::format("node must be a whole number from 0 to {}, found {}", kMostNode, shown(*found)));
        return found->get<int>();
    }

    int64_t whole(const char* key, const json& value, int64_t most) const {
        const bool fits = value.is_number_unsigned() && value.get<uint64_t>() > 0 &&
                          value.get<uint64_t>() <= static_cast<uint64_t>(most);
        if (!fits)
            refuse(fmt::format("{} must be a whole number from 1 to {}, found {}", key, most, shown(value)));
        return value.get<int64_t>();
    }

    const json& object_;
    const std::string where_;
};

// A list of objects has two levels, one more under "devices". Deeper ones could exhaust the stack of whoever
// walks them.
constexpr int kMostLevels = 8;

json parse(std::string_view text, const std::string& source) {
    const auto check_depth = [&](int depth, json::parse_event_t, const json&) {
        if (depth > kMostLevels)
            throw Error(
                fmt::format("{}: expected a list of devices, found more than {} levels of lists and "
                            "objects",
                            source, kMostLevels));
        return true;
    };
    try {
        return json::parse(text, check_depth);
    } catch (const json::parse_error& error) {
        throw Error(fmt::format("{}: expected JSON, found something else at byte {}", source, error.byte));
    }
}

void check_together(const std::vector<DescribedDevice>& devices, const std::string& source) {
    for (size_t i = 0; i < devices.size(); ++i) {
        for (size_t j = 0; j < i; ++j) {
            const DescribedDevice &a = devices[j], &b = devices[i];
            if (a.name == b.name)
                throw Error(fmt::format("{}: members {} and {} have the same name, {}", source, j, i,
                                        quote(a.name, 40)));
            if (a.memory == b.memory && a.memory_bytes != b.memory_bytes)
                throw Error(
                    fmt::format("{}: members {} and {} have the memory {} together, of {} bytes and of {}; "
                                "expected one size",
                                source, j, i, quote(a.memory, 40), a.memory_bytes, b.memory_bytes));
        }
    }
}

}  // namespace

std::vector<DescribedDevice> parse_members(std::string_view text, const std::string& source) {
    const json document = parse(text, source);
    const bool of_devices = document.is_object() && document.contains("devices");
    const json& list = of_devices ? document["devices"] : document;
    if (!list.is_array())
        throw Error(fmt::format("{}: expected a list of devices, found {}", source, shown(list)));
    if (list.empty() || list.size() > engine::kMostDevices)
        throw Error(
            fmt::format("{}: expected 1 to {} devices, found {}", source, engine::kMostDevices, list.size()));
    std::vector<DescribedDevice> devices;
    for (size_t i = 0; i < list.size(); ++i)
        devices.push_back(MemberReader(list[i], fmt::format("{}: member {}", source, i)).read(i));
    check_together(devices, source);
    return devices;
}

}  // namespace plait::tools
