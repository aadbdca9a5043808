#include "plait/backends/cpu/simd/levels.h"
#include "plait/backends/cpu/simd/tables.h"

// In place of levels_x86.cpp, for backends_cpu_simde_test: what x86 has beyond AVX2, in software
// (simde-inl.h).
namespace plait::backends::cpu::simd {
namespace {

bool has_avx2(const CpuFeatures& cpu) { return cpu.avx2 && cpu.fma && cpu.f16c; }

constexpr LevelRow kLevels[] = {
    {SimdLevel::scalar, [](const CpuFeatures&) { return true; }, kernels_scalar},
    {SimdLevel::avxvnni, has_avx2, kernels_avxvnni},
    {SimdLevel::avx512vnni, has_avx2, kernels_avx512vnni},
};

}  // namespace

std::span<const LevelRow> built_levels() { return kLevels; }
const char* built_for() { return "tests on x86-64"; }

}  // namespace plait::backends::cpu::simd
