#pragma once

#include "plait/base/cores.h"

namespace plait::tools {

// Speeds of this machine's memory with so many threads, bytes per second, the best of several passes: what a
// step's reading and a reduction are compared with. Takes about a second and twice the last-level cache (at
// least 256 MiB); other work running meanwhile shows.
struct MemorySpeeds {
    double read = 0;    // bytes read, 4 streams per thread
    double copy = 0;    // bytes read + written
    double reduce = 0;  // out = a + b in F32: bytes read + written
};

MemorySpeeds measure_memory(Cores& cores, int threads);
// Only `read` of the above.
double measure_read(Cores& cores, int threads);

}  // namespace plait::tools
