#include "plait/backends/cpu/simd/levels.h"
#include "plait/backends/cpu/simd/tables.h"

namespace plait::backends::cpu::simd {
namespace {

bool has_dotprod(const CpuFeatures& cpu) { return cpu.neon && cpu.dotprod; }
bool has_i8mm(const CpuFeatures& cpu) { return has_dotprod(cpu) && cpu.i8mm; }
// A processor with SVE and with byte matrix products has them in SVE too.
template <int kBits>
bool has_sve(const CpuFeatures& cpu) {
    return has_i8mm(cpu) && cpu.sve && cpu.sve_bits == kBits;
}

constexpr LevelRow kLevels[] = {
    {SimdLevel::scalar, [](const CpuFeatures&) { return true; }, kernels_scalar},
    {SimdLevel::neon, [](const CpuFeatures& cpu) { return cpu.neon; }, kernels_neon},
    {SimdLevel::dotprod, has_dotprod, kernels_dotprod},
    {SimdLevel::i8mm, has_i8mm, kernels_i8mm},
    {SimdLevel::sve128, has_sve<128>, kernels_sve128},
    {SimdLevel::sve256, has_sve<256>, kernels_sve256},
};

}  // namespace

std::span<const LevelRow> built_levels() { return kLevels; }
const char* built_for() { return "64-bit Arm"; }

}  // namespace plait::backends::cpu::simd
