#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plait {

// What the control groups of this process grant it, read from the files that the kernel documents in
// Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/. A limit holds for a group and everything below it,
// so every group from the process's own up to the root of the mount is asked and the tightest answer counts.
// Versions 1 and 2 may be mounted side by side; both are asked. A file that is absent or unintelligible
// limits nothing. All functions are pure but for the reading; any thread may call them.

// How files are read: the whole text of a small system file, nothing if it cannot be read. Tests give their
// own.
using ReadSystemFile = std::function<std::optional<std::string>(const std::string& path)>;
std::optional<std::string> read_system_file(const std::string& path);

enum class CgroupVersion { v1, v2 };

// The folders of the groups that bind this process, its own first, then its parents. `own` is the text of
// /proc/self/cgroup, `mounts` that of /proc/self/mountinfo; `controller` ("cpu", "memory") matters to version
// 1 only, where each controller may be mounted apart. Empty if that version does not manage the process.
std::vector<std::string> cgroup_folders(CgroupVersion version, std::string_view controller,
                                        std::string_view own, std::string_view mounts);

inline constexpr double kNoCpuQuota = std::numeric_limits<double>::infinity();
inline constexpr uint64_t kNoMemoryLimit = std::numeric_limits<uint64_t>::max();

// cpu.max of version 2: "max 100000" or "QUOTA PERIOD". Returns cores (quota / period).
double parse_cpu_max(std::string_view text);
// cpu.cfs_quota_us and cpu.cfs_period_us of version 1; a quota of -1 is none.
double parse_cfs_quota(std::string_view quota, std::string_view period);
// memory.max or memory.limit_in_bytes: "max" or a number of bytes.
uint64_t parse_memory_limit(std::string_view text);

// Processor seconds per second that all groups together grant.
double cgroup_cpu_quota(const ReadSystemFile& read = read_system_file);

struct CgroupMemory {
    uint64_t limit = kNoMemoryLimit;  // bytes
    uint64_t available =
        kNoMemoryLimit;  // bytes until a limit is hit; page cache not used lately counts as free
};
CgroupMemory cgroup_memory(const ReadSystemFile& read = read_system_file);

}  // namespace plait
