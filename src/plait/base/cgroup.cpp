#include "plait/base/cgroup.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include "plait/base/text_fields.h"

namespace plait {
namespace {

struct Mount {
    std::string root;   // which group of the hierarchy is seen at `point`
    std::string point;  // where it is mounted
};

// Mount paths write space, tab, newline and backslash as \ooo (proc(5)).
std::string unescape_mount_path(std::string_view text) {
    const auto octal = [](char c) { return c >= '0' && c <= '7'; };
    std::string path;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && i + 3 < text.size() && octal(text[i + 1]) && octal(text[i + 2]) &&
            octal(text[i + 3])) {
            path +=
                static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
            i += 3;
        } else {
            path += text[i];
        }
    }
    return path;
}

bool list_contains(std::string_view comma_list, std::string_view item) {
    const auto items = split(comma_list, ',');
    return std::find(items.begin(), items.end(), item) != items.end();
}

// A line of mountinfo: "36 35 0:31 ROOT POINT options [tags...] - TYPE source SUPER_OPTIONS".
std::optional<Mount> parse_cgroup_mount(std::string_view line, CgroupVersion version,
                                        std::string_view controller) {
    const auto fields = words(line);
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (fields.size() < 5 || fields.end() - dash < 4) return std::nullopt;
    const std::string_view type = dash[1];
    const bool wanted = version == CgroupVersion::v2 ? type == "cgroup2"
                                                     : type == "cgroup" && list_contains(dash[3], controller);
    if (!wanted) return std::nullopt;
    return Mount{unescape_mount_path(fields[3]), unescape_mount_path(fields[4])};
}

// The process's group in the hierarchy. Lines are "ID:CONTROLLERS:PATH"; version 2 is "0::PATH".
std::optional<std::string> own_group(CgroupVersion version, std::string_view controller,
                                     std::string_view own) {
    for (std::string_view line : split(own, '\n')) {
        const size_t first = line.find(':');
        const size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
        if (second == line.npos) continue;
        const std::string_view controllers = line.substr(first + 1, second - first - 1);
        const bool wanted = version == CgroupVersion::v2 ? line.substr(0, first) == "0" && controllers.empty()
                                                         : list_contains(controllers, controller);
        if (wanted) return std::string(line.substr(second + 1));
    }
    return std::nullopt;
}

// `group` relative to the group seen at the mount point: "" for that one itself. Nothing if it lies outside,
// as it does in a container that sees its own group as the root of the mount but not of the names.
std::optional<std::string> below(const std::string& root, const std::string& group) {
    if (group.starts_with("/..")) return std::nullopt;
    if (root == "/") return group == "/" ? "" : group;
    if (group == root) return "";
    if (group.starts_with(root + "/")) return group.substr(root.size());
    return std::nullopt;
}

std::vector<std::string> folders_upwards(const std::string& point, std::string relative) {
    std::vector<std::string> folders;
    while (!relative.empty()) {
        folders.push_back(point + relative);
        relative.resize(relative.rfind('/') == relative.npos ? 0 : relative.rfind('/'));
    }
    folders.push_back(point);
    return folders;
}

std::vector<std::string> this_process_folders(CgroupVersion version, std::string_view controller,
                                              const ReadSystemFile& read) {
    const auto own = read("/proc/self/cgroup");
    const auto mounts = read("/proc/self/mountinfo");
    if (!own || !mounts) return {};
    return cgroup_folders(version, controller, *own, *mounts);
}

std::string read_or_empty(const ReadSystemFile& read, const std::string& path) {
    return read(path).value_or("");
}

struct MemoryFileNames {
    const char* limit;
    const char* used;
    const char* idle_cache;  // its line in memory.stat: page cache that the kernel drops first
};
constexpr MemoryFileNames kMemoryFilesV1{"memory.limit_in_bytes", "memory.usage_in_bytes",
                                         "total_inactive_file"};
constexpr MemoryFileNames kMemoryFilesV2{"memory.max", "memory.current", "inactive_file"};

CgroupMemory memory_of_group(const std::string& folder, const MemoryFileNames& names,
                             const ReadSystemFile& read) {
    CgroupMemory memory;
    memory.limit = parse_memory_limit(read_or_empty(read, folder + "/" + names.limit));
    const auto used = parse_number<uint64_t>(trim(read_or_empty(read, folder + "/" + names.used)));
    if (memory.limit == kNoMemoryLimit || !used) return memory;
    const uint64_t idle_cache =
        labelled_number(read_or_empty(read, folder + "/memory.stat"), names.idle_cache).value_or(0);
    const uint64_t held = *used - std::min(*used, idle_cache);
    memory.available = memory.limit - std::min(memory.limit, held);
    return memory;
}

}  // namespace

std::optional<std::string> read_system_file(const std::string& path) {
    std::ifstream file(path);
    if (!file) return std::nullopt;
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

std::vector<std::string> cgroup_folders(CgroupVersion version, std::string_view controller,
                                        std::string_view own, std::string_view mounts) {
    const auto group = own_group(version, controller, own);
    if (!group) return {};
    std::optional<Mount> outside;
    for (std::string_view line : split(mounts, '\n')) {
        const auto mount = parse_cgroup_mount(line, version, controller);
        if (!mount) continue;
        if (const auto relative = below(mount->root, *group)) return folders_upwards(mount->point, *relative);
        if (!outside) outside = mount;
    }
    return outside ? std::vector{outside->point} : std::vector<std::string>{};
}

double parse_cpu_max(std::string_view text) {
    const auto fields = words(text);
    if (fields.size() != 2) return kNoCpuQuota;
    return parse_cfs_quota(fields[0], fields[1]);
}

double parse_cfs_quota(std::string_view quota, std::string_view period) {
    const auto quota_us = parse_number<int64_t>(trim(quota));
    const auto period_us = parse_number<int64_t>(trim(period));
    if (!quota_us || !period_us || *quota_us <= 0 || *period_us <= 0) return kNoCpuQuota;
    return static_cast<double>(*quota_us) / static_cast<double>(*period_us);
}

uint64_t parse_memory_limit(std::string_view text) {
    // Version 1 writes "no limit" as the largest multiple of a page in an int64.
    constexpr uint64_t kUnlimitedV1 = uint64_t{1} << 62;
    const auto bytes = parse_number<uint64_t>(trim(text));
    return bytes && *bytes < kUnlimitedV1 ? *bytes : kNoMemoryLimit;
}

double cgroup_cpu_quota(const ReadSystemFile& read) {
    double quota = kNoCpuQuota;
    for (const std::string& folder : this_process_folders(CgroupVersion::v2, "cpu", read))
        quota = std::min(quota, parse_cpu_max(read_or_empty(read, folder + "/cpu.max")));
    for (const std::string& folder : this_process_folders(CgroupVersion::v1, "cpu", read))
        quota = std::min(quota, parse_cfs_quota(read_or_empty(read, folder + "/cpu.cfs_quota_us"),
                                                read_or_empty(read, folder + "/cpu.cfs_period_us")));
    return quota;
}

CgroupMemory cgroup_memory(const ReadSystemFile& read) {
    CgroupMemory tightest;
    const auto ask = [&](CgroupVersion version, const MemoryFileNames& names) {
        for (const std::string& folder : this_process_folders(version, "memory", read)) {
            const CgroupMemory group = memory_of_group(folder, names, read);
            tightest.limit = std::min(tightest.limit, group.limit);
            tightest.available = std::min(tightest.available, group.available);
        }
    };
    ask(CgroupVersion::v2, kMemoryFilesV2);
    ask(CgroupVersion::v1, kMemoryFilesV1);
    return tightest;
}

}  // namespace plait
