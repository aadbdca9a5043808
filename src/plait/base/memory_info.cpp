#include "plait/base/memory_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "plait/base/error.h"
#include "plait/base/text_fields.h"

namespace plait {
namespace {

// A line "LABEL  NUMBER kB", in bytes.
uint64_t kibibytes(const std::string& text, const char* label, const char* path) {
    const auto number = labelled_number(text, label);
    if (!number)
        throw Error(fmt::format("memory: expected a line '{} NUMBER kB' in {}, found none", label, path));
    return *number * 1024;
}

std::string read_or_throw(const ReadSystemFile& read, const char* path) {
    auto text = read(path);
    if (!text) throw Error(fmt::format("memory: {} cannot be read; is /proc mounted?", path));
    return *std::move(text);
}

}  // namespace

MemoryInfo memory_info(const ReadSystemFile& read) {
    constexpr const char* kPath = "/proc/meminfo";
    const std::string text = read_or_throw(read, kPath);
    const CgroupMemory granted = cgroup_memory(read);
    return {.total = std::min(kibibytes(text, "MemTotal:", kPath), granted.limit),
            .available = std::min(kibibytes(text, "MemAvailable:", kPath), granted.available)};
}

uint64_t peak_resident_bytes(const ReadSystemFile& read) {
    constexpr const char* kPath = "/proc/self/status";
    return kibibytes(read_or_throw(read, kPath), "VmHWM:", kPath);
}

// proc(5), /proc/pid/clear_refs: writing 5 sets VmHWM to what is resident.
bool reset_peak_resident() {
    std::ofstream file("/proc/self/clear_refs");
    file << "5";
    file.flush();
    return file.good();
}

}  // namespace plait
