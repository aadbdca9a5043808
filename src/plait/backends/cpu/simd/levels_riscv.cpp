#include "plait/backends/cpu/simd/levels.h"
#include "plait/backends/cpu/simd/tables.h"

namespace plait::backends::cpu::simd {
namespace {

constexpr LevelRow kLevels[] = {
    {SimdLevel::scalar, [](const CpuFeatures&) { return true; }, kernels_scalar},
    {SimdLevel::rvv128, [](const CpuFeatures& cpu) { return cpu.rvv_bits == 128; }, kernels_rvv128},
    {SimdLevel::rvv256, [](const CpuFeatures& cpu) { return cpu.rvv_bits == 256; }, kernels_rvv256},
};

}  // namespace

std::span<const LevelRow> built_levels() { return kLevels; }
const char* built_for() { return "RISC-V"; }

}  // namespace plait::backends::cpu::simd
