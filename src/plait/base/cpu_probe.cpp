#include "plait/base/cpu_probe.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "plait/base/cgroup.h"
#include "plait/base/text_fields.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#include <sys/prctl.h>
#elif defined(__riscv)
#include <sys/auxv.h>
#endif

namespace plait {
namespace {

constexpr bool bit(uint64_t word, int index) { return (word >> index & 1) != 0; }

// Arm and RISC-V processors do not state a name; device trees do.
[[maybe_unused]] std::string device_tree_model() {
    const std::string model = read_system_file("/proc/device-tree/model").value_or("");
    return std::string(trim(model.c_str()));
}

#if defined(__x86_64__)

struct Registers {
    uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// All zero if the processor does not know the leaf.
Registers cpuid(uint32_t leaf, uint32_t subleaf = 0) {
    Registers r;
    __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
    return r;
}

uint64_t read_xcr0() {
    uint32_t low, high;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return uint64_t{high} << 32 | low;
}

X86FeatureWords read_words() {
    constexpr int kOsxsave = 27;  // leaf 1, ecx: the system has enabled xgetbv
    X86FeatureWords words;
    words.leaf1_ecx = cpuid(1).ecx;
    const Registers leaf7 = cpuid(7);
    words.leaf7_ebx = leaf7.ebx;
    words.leaf7_ecx = leaf7.ecx;
    words.leaf7_edx = leaf7.edx;
    if (leaf7.eax >= 1) words.leaf7_1_eax = cpuid(7, 1).eax;
    if (bit(words.leaf1_ecx, kOsxsave)) words.xcr0 = read_xcr0();
    return words;
}

CpuFeatures read_features() { return decode_x86(read_words()); }

// Leaves 0x80000002 to 0x80000004 hold 48 characters, padded with blanks or zeros.
std::string read_name() {
    std::string name;
    for (uint32_t leaf = 0x80000002; leaf <= 0x80000004; ++leaf) {
        const Registers r = cpuid(leaf);
        const std::array<uint32_t, 4> words{r.eax, r.ebx, r.ecx, r.edx};
        name.append(reinterpret_cast<const char*>(words.data()), sizeof words);
    }
    name.resize(std::strlen(name.c_str()));
    return std::string(trim(name));
}

#elif defined(__aarch64__)

// Bits of the auxiliary vector, from Linux's Documentation/arch/arm64/elf_hwcaps.rst; spelled out because
// older system headers lack the later ones.
constexpr int kHwcapAsimd = 1;
constexpr int kHwcapAsimdDp = 20;
constexpr int kHwcapSve = 22;
constexpr int kHwcap2I8mm = 13;

CpuFeatures read_features() {
    const unsigned long caps = getauxval(AT_HWCAP);
    CpuFeatures features;
    features.neon = bit(caps, kHwcapAsimd);
    features.dotprod = bit(caps, kHwcapAsimdDp);
    features.i8mm = bit(getauxval(AT_HWCAP2), kHwcap2I8mm);
    features.sve = bit(caps, kHwcapSve);
    if (features.sve) features.sve_bits = (prctl(PR_SVE_GET_VL) & PR_SVE_VL_LEN_MASK) * 8;
    return features;
}

std::string read_name() { return device_tree_model(); }

#elif defined(__riscv)

// The auxiliary vector has a bit per letter of the instruction set. Some early systems set V's for version
// 0.7, which does not know tail and mask policies: asked for them, it answers with the sign bit (vill) of
// vtype.
CpuFeatures read_features() {
    CpuFeatures features;
    if (!bit(getauxval(AT_HWCAP), 'v' - 'a')) return features;
    int64_t bytes, type;
    asm volatile(
        ".option push\n"
        ".option arch, +v\n"
        "vsetvli %0, zero, e8, m1, ta, ma\n"
        "csrr %1, vtype\n"
        ".option pop"
        : "=r"(bytes), "=r"(type));
    if (type >= 0) features.rvv_bits = static_cast<int>(8 * bytes);
    return features;
}
std::string read_name() { return device_tree_model(); }

#else

CpuFeatures read_features() { return {}; }
std::string read_name() { return {}; }

#endif

}  // namespace

CpuInfo probe_cpu() {
    CpuInfo info{.name = read_name(), .features = read_features()};
    if (info.name.empty()) info.name = "unnamed processor";
    return info;
}

bool ask_for_tiles() {
#if defined(__x86_64__)
    // Linux, Documentation/arch/x86/xstate.rst; spelled out because older system headers lack them.
    constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
    constexpr int kTileData = 18;
    static const bool granted =
        probe_cpu().features.amx_int8 && syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
    return granted;
#else
    return false;
#endif
}

CpuFeatures decode_x86(const X86FeatureWords& words) {
    // Parts of XCR0 (SDM volume 1, 13.3).
    constexpr uint64_t kSseAvx = 0x06, kAvx512 = 0xe6, kTiles = 0x60000;
    const auto saved = [&](uint64_t state) { return (words.xcr0 & state) == state; };
    const bool avx_state = saved(kSseAvx) && bit(words.leaf1_ecx, 28);

    CpuFeatures f;
    f.sse4 = bit(words.leaf1_ecx, 9) && bit(words.leaf1_ecx, 19);
    f.avx2 = avx_state && bit(words.leaf7_ebx, 5);
    f.fma = avx_state && bit(words.leaf1_ecx, 12);
    f.f16c = avx_state && bit(words.leaf1_ecx, 29);
    f.avxvnni = f.avx2 && bit(words.leaf7_1_eax, 4);
    f.avx512f = avx_state && saved(kAvx512) && bit(words.leaf7_ebx, 16);
    f.avx512bw = f.avx512f && bit(words.leaf7_ebx, 30);
    f.avx512vl = f.avx512f && bit(words.leaf7_ebx, 31);
    f.avx512vnni = f.avx512f && bit(words.leaf7_ecx, 11);
    f.amx_int8 = saved(kTiles) && bit(words.leaf7_edx, 24) && bit(words.leaf7_edx, 25);
    return f;
}

std::string describe(const CpuFeatures& features) {
    struct Named {
        const char* name;
        bool present;
    };
    const Named flags[] = {
        {"sse4", features.sse4},         {"avx2", features.avx2},         {"fma", features.fma},
        {"f16c", features.f16c},         {"avxvnni", features.avxvnni},   {"avx512f", features.avx512f},
        {"avx512bw", features.avx512bw}, {"avx512vl", features.avx512vl}, {"avx512vnni", features.avx512vnni},
        {"amx_int8", features.amx_int8}, {"neon", features.neon},         {"dotprod", features.dotprod},
        {"i8mm", features.i8mm},
    };
    std::string text;
    const auto append = [&](const std::string& word) { text += (text.empty() ? "" : " ") + word; };
    for (const Named& flag : flags)
        if (flag.present) append(flag.name);
    if (features.sve) append(fmt::format("sve{}", features.sve_bits));
    if (features.rvv_bits != 0) append(fmt::format("rvv{}", features.rvv_bits));
    return text.empty() ? "none beyond the baseline" : text;
}

}  // namespace plait
