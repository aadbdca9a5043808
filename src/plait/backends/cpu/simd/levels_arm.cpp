#include "plait/backends/cpu/simd/levels.h"
#include "plait/backends/cpu/simd/tables.h"

namespace plait::backends::cpu::simd {
namespace {

bool has_dotprod(const CpuFeatures& cpu) { return cpu.neon && cpu.dotprod; }
bool has_i8mm(const CpuFeatures& cpu) { return has_dotprod(cpu) && cpu.i8mm; }

constexpr LevelRow kLevels[] = {
    {SimdLevel::scalar, [](const CpuFeatures&) { return true; }, kernels_scalar},
    {SimdLevel::neon, [](const CpuFeatures& cpu) { return cpu.neon; }, kernels_neon},
    {SimdLevel::dotprod, has_dotprod, kernels_dotprod},
    {SimdLevel::i8mm, has_i8mm, kernels_i8mm},
};

}  // namespace

std::span<const LevelRow> built_levels() { return kLevels; }
const char* built_for() { return "64-bit Arm"; }

}  // namespace plait::backends::cpu::simd
