// Built with -march=armv8.2-a+dotprod+i8mm.
#include "plait/backends/cpu/simd/ops_dotprod-inl.h"
#include "plait/backends/cpu/simd/table-inl.h"

namespace plait::backends::cpu::simd {
namespace {

struct I8mmOps : DotprodBase {
    static constexpr int kPanelTokens = 8;
    using Wide = I8mmOps;

    static void join(B a, B b, B& first, B& second) {
        first = {zip1(a.low, b.low), zip2(a.low, b.low)};
        second = {zip1(a.high, b.high), zip2(a.high, b.high)};
    }
    static B broadcast_pair(const int8_t* a, const int8_t* b) {
        const uint8x16_t v = vreinterpretq_u8_s8(vcombine_s8(vld1_s8(a), vld1_s8(b)));
        return {v, v};
    }
    static I dot_pairs(I sum, B w, B s) {
        return {vmmlaq_s32(sum.low, low_s8(w), low_s8(s)), vmmlaq_s32(sum.high, high_s8(w), high_s8(s))};
    }
    static I even_lanes(I a, I b) { return {vuzp1q_s32(a.low, a.high), vuzp1q_s32(b.low, b.high)}; }
    static I odd_lanes(I a, I b) { return {vuzp2q_s32(a.low, a.high), vuzp2q_s32(b.low, b.high)}; }

  private:
    static uint8x16_t zip1(uint8x16_t a, uint8x16_t b) {
        return vreinterpretq_u8_u32(vzip1q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
    }
    static uint8x16_t zip2(uint8x16_t a, uint8x16_t b) {
        return vreinterpretq_u8_u32(vzip2q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
    }
};

constexpr KernelTable kTable = make_table<I8mmOps>();

}  // namespace

const KernelTable& kernels_i8mm() { return kTable; }

}  // namespace plait::backends::cpu::simd
