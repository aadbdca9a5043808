#include "plait/backends/cpu/simd/levels.h"
#include "plait/backends/cpu/simd/tables.h"

namespace plait::backends::cpu::simd {
namespace {

constexpr LevelRow kLevels[] = {
    {SimdLevel::scalar, [](const CpuFeatures&) { return true; }, kernels_scalar},
    {SimdLevel::neon, [](const CpuFeatures& cpu) { return cpu.neon; }, kernels_neon},
};

}  // namespace

std::span<const LevelRow> built_levels() { return kLevels; }
const char* built_for() { return "64-bit Arm"; }

}  // namespace plait::backends::cpu::simd
