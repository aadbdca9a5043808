#pragma once

#include <span>

#include "plait/backends/cpu/simd/select.h"
#include "plait/base/cpu_probe.h"

// The levels this build has kernels for: levels_x86.cpp, _arm.cpp, _riscv.cpp or
// _portable.cpp, whichever the build chose.
namespace plait::backends::cpu::simd {

struct LevelRow {
    SimdLevel level;
    bool (*runs_on)(const CpuFeatures&);
    const KernelTable& (*kernels)();
};

// From the plainest to the most capable; a machine's best level is the last one that runs on it.
std::span<const LevelRow> built_levels();
// The architecture, as a person would call it.
const char* built_for();

}  // namespace plait::backends::cpu::simd
