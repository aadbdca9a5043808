#pragma once

#include <cstdint>

#include "plait/base/cgroup.h"

namespace plait {

// What memory this process can count on, in bytes: the tighter of what the kernel says (/proc/meminfo) and
// what the control groups grant. `available` includes page cache that the kernel gives up under pressure.
struct MemoryInfo {
    uint64_t total = 0;
    uint64_t available = 0;
};

// Throws Error when the system does not say. Any thread.
MemoryInfo memory_info(const ReadSystemFile& read = read_system_file);

// The most memory this process has had resident at a time (VmHWM), mapped file pages included. Throws Error
// when the system does not say. Any thread.
uint64_t peak_resident_bytes(const ReadSystemFile& read = read_system_file);
// Makes what is resident now the most so far. False where the system does not allow it. Any thread.
bool reset_peak_resident();

}  // namespace plait
