#include "plait/backends/cpu/simd/levels.h"
#include "plait/backends/cpu/simd/tables.h"

namespace plait::backends::cpu::simd {
namespace {

bool has_avx2(const CpuFeatures& cpu) { return cpu.avx2 && cpu.fma && cpu.f16c; }

bool has_avx512vnni(const CpuFeatures& cpu) {
    return has_avx2(cpu) && cpu.avx512f && cpu.avx512bw && cpu.avx512vl && cpu.avx512vnni;
}

const KernelTable& amx_table() {
    static const KernelTable table = [] {
        KernelTable changed = kernels_avx512vnni();
        changed.matmul_q8_x8 = kernels_amx();
        return changed;
    }();
    return table;
}

constexpr LevelRow kLevels[] = {
    {SimdLevel::scalar, [](const CpuFeatures&) { return true; }, kernels_scalar},
    {SimdLevel::sse4, [](const CpuFeatures& cpu) { return cpu.sse4; }, kernels_sse4},
    {SimdLevel::avx2, has_avx2, kernels_avx2},
    {SimdLevel::avxvnni, [](const CpuFeatures& cpu) { return has_avx2(cpu) && cpu.avxvnni; },
     kernels_avxvnni},
    {SimdLevel::avx512vnni, has_avx512vnni, kernels_avx512vnni},
    {SimdLevel::amx, [](const CpuFeatures& cpu) { return has_avx512vnni(cpu) && cpu.amx_int8; }, amx_table},
};

}  // namespace

std::span<const LevelRow> built_levels() { return kLevels; }
const char* built_for() { return "x86-64"; }

}  // namespace plait::backends::cpu::simd
