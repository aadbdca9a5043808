// Built with -mavx2 -mfma -mf16c -mavxvnni: the VEX encoding, never in one file with AVX-512's.
#include "plait/backends/cpu/simd/ops_x86-inl.h"
#include "plait/backends/cpu/simd/table-inl.h"

namespace plait::backends::cpu::simd {
namespace {

struct AvxVnniOps : X86Ops {
    using Wide = AvxVnniOps;

    // 32-bit sums that do not saturate.
    using Sum = __m256i;
    static constexpr int kSignedBias = 128;
    static constexpr int dots_per_sum(int) { return 8; }
    static B biased(B w) { return _mm256_xor_si256(w, _mm256_set1_epi8(-128)); }
    static Sum zero_sum() { return _mm256_setzero_si256(); }
    static Sum dot_u7(Sum sum, B u, B s) { return _mm256_dpbusd_avx_epi32(sum, u, s); }
    static I finish(Sum sum) { return sum; }

    // (w + 128) * s
    static I dot_s8(I sum, B w, B s) { return dot_u7(sum, biased(w), s); }
    // |w| * (sign(w) s)
    static I dot_s8_lanes(B w, B s) {
        return _mm256_dpbusd_avx_epi32(_mm256_setzero_si256(), _mm256_sign_epi8(w, w),
                                       _mm256_sign_epi8(s, w));
    }
};

constexpr KernelTable kTable = make_table<AvxVnniOps>();

}  // namespace

const KernelTable& kernels_avxvnni() { return kTable; }

}  // namespace plait::backends::cpu::simd
