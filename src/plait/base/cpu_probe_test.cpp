#include "plait/base/cpu_probe.h"

#include <gmock/gmock.h>

#include <string>

#include "plait/base/cgroup.h"
#include "plait/base/text_fields.h"

namespace plait {
namespace {

constexpr X86FeatureWords kEverything{.leaf1_ecx = ~0u,
                                      .leaf7_ebx = ~0u,
                                      .leaf7_ecx = ~0u,
                                      .leaf7_edx = ~0u,
                                      .leaf7_1_eax = ~0u,
                                      .xcr0 = ~uint64_t{0}};

TEST(DecodeX86, NothingKnownIsNothingPresent) { EXPECT_EQ(decode_x86({}), CpuFeatures{}); }

TEST(DecodeX86, EverythingIsEverythingOfX86) {
    const CpuFeatures f = decode_x86(kEverything);
    EXPECT_TRUE(f.sse4 && f.avx2 && f.fma && f.f16c && f.avxvnni && f.avx512f && f.avx512bw && f.avx512vl);
    EXPECT_TRUE(f.avx512vnni && f.amx_int8);
    EXPECT_FALSE(f.neon || f.dotprod || f.i8mm || f.sve || f.sve_bits != 0 || f.rvv_bits != 0);
}

TEST(DecodeX86, RegistersThatTheSystemDoesNotSaveAreNotThere) {
    X86FeatureWords words = kEverything;
    words.xcr0 = 0;
    EXPECT_EQ(describe(decode_x86(words)), "sse4");
    words.xcr0 = 0x2;  // SSE alone
    EXPECT_EQ(describe(decode_x86(words)), "sse4");
    words.xcr0 = 0x6;
    EXPECT_EQ(describe(decode_x86(words)), "sse4 avx2 fma f16c avxvnni");
    words.xcr0 = 0x46;  // only a part of the AVX-512 registers
    EXPECT_FALSE(decode_x86(words).avx512f);
    words.xcr0 = 0xe6;
    EXPECT_TRUE(decode_x86(words).avx512f);
    EXPECT_FALSE(decode_x86(words).amx_int8);
    words.xcr0 = 0x600e6;
    EXPECT_TRUE(decode_x86(words).amx_int8);
}

TEST(DecodeX86, ExtensionsNeedTheirFoundation) {
    X86FeatureWords words = kEverything;
    words.leaf7_ebx &= ~(1u << 16);  // no AVX-512F
    EXPECT_EQ(describe(decode_x86(words)), "sse4 avx2 fma f16c avxvnni amx_int8");
    words.leaf1_ecx &= ~(1u << 28);  // no AVX
    EXPECT_EQ(describe(decode_x86(words)), "sse4 amx_int8");
}

TEST(Describe, NamesTheBaselineAndSveWidth) {
    EXPECT_EQ(describe({}), "none beyond the baseline");
    EXPECT_EQ(describe({.neon = true, .dotprod = true, .sve = true, .sve_bits = 256}), "neon dotprod sve256");
    EXPECT_EQ(describe({.rvv_bits = 128}), "rvv128");
}

TEST(ProbeCpu, TilesAreGrantedOnlyWhereTheyAre) {
    const bool granted = ask_for_tiles();
    EXPECT_EQ(ask_for_tiles(), granted);
    EXPECT_TRUE(probe_cpu().features.amx_int8 || !granted);
}

TEST(ProbeCpu, AgreesWithTheKernel) {
    const CpuInfo cpu = probe_cpu();
    EXPECT_FALSE(cpu.name.empty());
#if defined(__x86_64__)
    const auto text = read_system_file("/proc/cpuinfo");
    ASSERT_TRUE(text.has_value());
    std::string flags;
    for (std::string_view line : split(*text, '\n'))
        if (line.starts_with("flags")) flags = " " + std::string(line.substr(line.find(':') + 1)) + " ";
    const auto kernel_has = [&](const char* flag) {
        return flags.find(" " + std::string(flag) + " ") != flags.npos;
    };
    EXPECT_EQ(cpu.features.avx2, kernel_has("avx2"));
    EXPECT_EQ(cpu.features.fma, kernel_has("fma"));
    EXPECT_EQ(cpu.features.f16c, kernel_has("f16c"));
    EXPECT_EQ(cpu.features.avxvnni, kernel_has("avx_vnni"));
    EXPECT_EQ(cpu.features.avx512f, kernel_has("avx512f"));
    EXPECT_EQ(cpu.features.avx512bw, kernel_has("avx512bw"));
    EXPECT_EQ(cpu.features.avx512vl, kernel_has("avx512vl"));
    EXPECT_EQ(cpu.features.avx512vnni, kernel_has("avx512_vnni"));
    EXPECT_EQ(cpu.features.amx_int8, kernel_has("amx_int8"));
    EXPECT_NE(text->find(cpu.name), text->npos) << cpu.name;
#endif
}

}  // namespace
}  // namespace plait
