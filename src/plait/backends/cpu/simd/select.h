#pragma once

#include <string_view>

#include "plait/backends/cpu/simd/kernel_table.h"

// Instruction-set levels of the CPU backend, and the kernels of each.
namespace plait::backends::cpu::simd {

enum class SimdLevel : uint8_t {
    scalar,      // one element at a time: any machine, and the reference for the others
    sse4,        // SSSE3 + SSE4.1: x86 since 2008
    avx2,        // AVX2 + FMA + F16C: x86 since 2013
    avxvnni,     // avx2 with byte dot products, VEX encoded: client cores since 2021
    avx512vnni,  // the same, EVEX encoded with twice the registers: server cores since 2019
    amx,         // avx512vnni whose products with several tokens are done in tiles: server cores since 2023
    neon,        // 64-bit Arm, any
    dotprod,     // with byte dot products: Arm cores since 2018
    i8mm,        // with byte matrix products: Arm cores since 2021
    sve128,      // the same in SVE's registers of 128 bits
    sve256,      // and of 256
    rvv128,      // RISC-V's vectors of 128 bits
    rvv256,      // and of 256
};

inline constexpr SimdLevel kAllLevels[] = {
    SimdLevel::scalar, SimdLevel::sse4,   SimdLevel::avx2,    SimdLevel::avxvnni, SimdLevel::avx512vnni,
    SimdLevel::amx,    SimdLevel::neon,   SimdLevel::dotprod, SimdLevel::i8mm,    SimdLevel::sve128,
    SimdLevel::sve256, SimdLevel::rvv128, SimdLevel::rvv256};

const char* name(SimdLevel level);

// The level of a `--simd` value, or `best` for the best this machine has. Throws Error for a name this build
// has no kernels for, which may be that of another architecture's level.
SimdLevel parse_level(std::string_view text);

bool has_level(SimdLevel level);
SimdLevel best_level();

// Throws Error, naming what the machine has, when it lacks the level.
const KernelTable& kernels(SimdLevel level);

}  // namespace plait::backends::cpu::simd
