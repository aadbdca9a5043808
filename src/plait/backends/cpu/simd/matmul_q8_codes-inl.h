#pragma once

#include "plait/backends/cpu/simd/matmul_q8_x8-inl.h"
#include "plait/dtype/whole_codes.h"

// Formats whose values have to be looked up, in GGUF's row layout: rows become a panel first, for a single
// token too, and are then multiplied as packed weights are. Unpacking is the same plain code on every
// instruction set (dtype/whole_codes.h).
namespace plait::backends::cpu::simd {
namespace {

// A format as such a panel: F gives kBytes of a block of 256, kCoding, and codes(block, out).
template <class O, class F>
void fill_panel_from_rows(const MatmulArgs& a, int64_t first_row, uint8_t* panel, int64_t step) {
    using To = Panel<O, panel_coding<O>(F::kCoding)>;
    constexpr uint32_t kMore = 0x01010101u * (To::kCoding.offset - F::kCoding.offset);  // no byte overflows
    static_assert(F::kCoding.most + To::kCoding.offset - F::kCoding.offset <= 255);
    dtype::WholeCodes whole;
    for (int64_t r = 0; r < To::kRows; ++r) {
        // Nobody sees the rows behind the last one.
        const int64_t row = first_row + r < a.rows ? first_row + r : a.rows - 1;
        const uint8_t* block = static_cast<const uint8_t*>(a.weights) + row * a.row_bytes;
        uint8_t* to = panel;
        for (int64_t i = 0; i < a.k; i += 256, block += F::kBytes) {
            F::codes(block, whole);
            for (int part = 0; part < 8 && i + 32 * part < a.k; ++part, to += step) {
#pragma GCC unroll 8
                for (int chunk = 0; chunk < 8; ++chunk) {
                    uint32_t four;
                    __builtin_memcpy(&four, whole.codes + 32 * part + 4 * chunk, sizeof four);
                    four += kMore;
                    __builtin_memcpy(to + 4 * To::kRows * chunk + 4 * r, &four, sizeof four);
                }
                for (int half = 0; half < F::kCoding.halves; ++half)
                    To::scale_at(to, half)[r] = whole.scales[2 * part + half];
            }
        }
    }
    if constexpr (To::kJoined)
        for (int64_t i = 0; i < a.k; i += 32) join_chunks<O>(panel + i / 32 * step);
}

template <class O, class F>
void matmul_q8_codes(const MatmulArgs& a) {
    using Wide = typename O::Wide;
    matmul_by_panels<Wide, Panel<Wide, panel_coding<Wide>(F::kCoding)>>(
        a, [&](int64_t group, uint8_t* panel, int64_t step) {
            fill_panel_from_rows<Wide, F>(a, 8 * group, panel, step);
        });
}

template <int Bytes, int Offset, int Halves, dtype::WholeCodesFn Codes>
struct LookedUp {
    static constexpr int kBytes = Bytes;
    static constexpr Coding kCoding{.most = 2 * Offset, .offset = Offset, .halves = Halves};
    static void codes(const uint8_t* block, dtype::WholeCodes& out) { Codes(block, out); }
};
using LookedUpIQ3_S = LookedUp<110, dtype::kIq3SOffset, 1, dtype::whole_codes_iq3_s>;
using LookedUpIQ3_XXS = LookedUp<98, dtype::kIq3XxsOffset, 1, dtype::whole_codes_iq3_xxs>;
using LookedUpIQ2_S = LookedUp<82, dtype::kIq2Offset, 2, dtype::whole_codes_iq2_s>;
using LookedUpIQ2_XS = LookedUp<74, dtype::kIq2Offset, 2, dtype::whole_codes_iq2_xs>;
using LookedUpIQ2_XXS = LookedUp<66, dtype::kIq2Offset, 1, dtype::whole_codes_iq2_xxs>;
using LookedUpIQ1_M = LookedUp<56, dtype::kIq1Offset, 2, dtype::whole_codes_iq1_m>;
using LookedUpIQ1_S = LookedUp<50, dtype::kIq1Offset, 1, dtype::whole_codes_iq1_s>;
using LookedUpTQ1_0 = LookedUp<54, dtype::kTq1Offset, 1, dtype::whole_codes_tq1_0>;

}  // namespace
}  // namespace plait::backends::cpu::simd
