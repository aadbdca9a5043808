#include "plait/backends/cpu/simd/levels.h"
#include "plait/backends/cpu/simd/tables.h"

namespace plait::backends::cpu::simd {
namespace {

constexpr LevelRow kLevels[] = {{SimdLevel::scalar, [](const CpuFeatures&) { return true; }, kernels_scalar}};

}  // namespace

std::span<const LevelRow> built_levels() { return kLevels; }
const char* built_for() { return "a processor without vector kernels"; }

}  // namespace plait::backends::cpu::simd
