#pragma once

#include <cstdint>
#include <string>

namespace plait {

// Instruction sets that the processor has and the operating system keeps the registers of. A kernel may run
// only if every flag it needs is true. All flags of other architectures are false.
struct CpuFeatures {
    // x86-64
    bool sse4 = false;  // SSE4.1 and SSSE3
    bool avx2 = false;  // with AVX
    bool fma = false;
    bool f16c = false;
    bool avxvnni = false;  // the VEX-coded dot products, 256 bits wide
    bool avx512f = false;
    bool avx512bw = false;
    bool avx512vl = false;
    bool avx512vnni = false;
    bool amx_int8 = false;  // with AMX-TILE; to be asked for before it is used (ask_for_tiles)

    // Arm, 64 bits
    bool neon = false;
    bool dotprod = false;
    bool i8mm = false;
    bool sve = false;
    int sve_bits = 0;  // width of an SVE register in this process; 0 without SVE

    // RISC-V, 64 bits
    int rvv_bits = 0;  // width of a vector register; 0 without version 1.0 of the vectors

    bool operator==(const CpuFeatures&) const = default;
};

struct CpuInfo {
    std::string name;  // for people, as the processor states it; never empty
    CpuFeatures features;
};

// Asks the processor (cpuid and xgetbv on x86, the auxiliary vector on Arm and RISC-V). Built without
// instruction set flags, so it runs anywhere. Cheap enough to call once per device; any thread.
CpuInfo probe_cpu();

// Asks the system once to keep the tile registers of this process's threads, without which using them ends
// the process. False if it refuses, or the processor has none. Any thread.
bool ask_for_tiles();

// "sse4 avx2 fma": the flags that are true, or "none beyond the baseline".
std::string describe(const CpuFeatures& features);

// The registers in which an x86 processor answers, as far as the features need them (Intel SDM volume 2,
// CPUID). Zero where the processor does not know the leaf.
struct X86FeatureWords {
    uint32_t leaf1_ecx = 0;
    uint32_t leaf7_ebx = 0;
    uint32_t leaf7_ecx = 0;
    uint32_t leaf7_edx = 0;
    uint32_t leaf7_1_eax = 0;
    uint64_t xcr0 = 0;  // register state that the system saves; 0 if the processor has no XSAVE
};

// The meaning of those words. A pure function, on every architecture.
CpuFeatures decode_x86(const X86FeatureWords& words);

}  // namespace plait
