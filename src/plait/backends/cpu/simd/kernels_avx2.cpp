// Built with -mavx2 -mfma -mf16c.
#include "plait/backends/cpu/simd/ops_x86-inl.h"
#include "plait/backends/cpu/simd/table-inl.h"

namespace plait::backends::cpu::simd {
namespace {

struct Avx2Ops : X86Ops {
    using Wide = Avx2Ops;

    // 16-bit sums of pairs, which must stay below 2^15: 8 of codes up to 15, for one. The empty asm keeps
    // the additions in the order written; the compiler would turn them into one long chain and keep all
    // weights alive.
    using Sum = __m256i;
    static constexpr int kSignedBias = 0;
    static constexpr int dots_per_sum(int most) {
        const int dots = 32767 / (2 * 127 * most);
        return dots < 8 ? dots : 8;
    }
    static Sum zero_sum() { return _mm256_setzero_si256(); }
    static Sum dot_u7(Sum sum, B u, B s) {
        Sum next = _mm256_add_epi16(sum, _mm256_maddubs_epi16(u, s));
        asm("" : "+x"(next));
        return next;
    }
    static I finish(Sum sum) { return _mm256_madd_epi16(sum, _mm256_set1_epi16(1)); }

    // |w| * (sign(w) s): |-128| is 128 as an unsigned byte, and 2 * 128 * 127 = 32 512 still fits 16 bits.
    static I dot_s8(I sum, B w, B s) {
        const __m256i pairs = _mm256_maddubs_epi16(_mm256_sign_epi8(w, w), _mm256_sign_epi8(s, w));
        I next = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
        asm("" : "+x"(next));
        return next;
    }
    static I dot_s8_lanes(B w, B s) { return dot_s8(_mm256_setzero_si256(), w, s); }
};

constexpr KernelTable kTable = make_table<Avx2Ops>();

}  // namespace

const KernelTable& kernels_avx2() { return kTable; }

}  // namespace plait::backends::cpu::simd
