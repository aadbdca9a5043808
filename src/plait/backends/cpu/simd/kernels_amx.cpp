// Built with the flags of kernels_avx512vnni.cpp, and -mamx-tile -mamx-int8.
#include "plait/backends/cpu/simd/matmul_q8_x8_tiles-inl.h"
#include "plait/backends/cpu/simd/ops_avx512vnni-inl.h"
#include "plait/backends/cpu/simd/table-inl.h"

namespace plait::backends::cpu::simd {
namespace {

// Not the compiler's intrinsics: GCC 12's do not tell it that a tile's load reads memory.
struct AmxTiles {
    static void configure(const TileConfig& config) { asm volatile("ldtilecfg %0" : : "m"(config)); }
    static void release() { asm volatile("tilerelease"); }
    template <int N>
    static void zero() {
        asm volatile("tilezero %%tmm%c0" : : "i"(N));
    }
    template <int N>
    static void load(const void* p, int64_t stride) {
        asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(p), "r"(stride), "i"(N) : "memory");
    }
    template <int N>
    static void store(void* p, int64_t stride) {
        asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(p), "r"(stride), "i"(N) : "memory");
    }
    template <int C, int A, int B>
    static void dot_s8() {
        asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(C), "i"(A), "i"(B));
    }
};

struct AmxOps : Avx512VnniOps {
    using Tiles = AmxTiles;
};

constexpr PerFormat<MatmulFn> kProducts = per_format(kMatmulQ8X8<AmxOps>);

}  // namespace

const PerFormat<MatmulFn>& kernels_amx() { return kProducts; }

}  // namespace plait::backends::cpu::simd
