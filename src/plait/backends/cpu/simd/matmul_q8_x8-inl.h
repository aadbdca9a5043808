#pragma once

#include "plait/backends/cpu/simd/matmul_q8-inl.h"
#include "plait/backends/cpu/simd/packed-inl.h"
#include "plait/backends/cpu/simd/prefetch-inl.h"

// Block weights in the packed layout (pack_x8.h) with ActBlock activations: a lane is a row, so nothing is
// added across lanes. Per 32 elements the integer products of a row are exact; then some float steps, block
// after block. Vectors of 8 or 16 rows, tiles of any shape, packed weights or panels: the same additions for
// each element.
namespace plait::backends::cpu::simd {
namespace {

template <class O>
void store_group(const MatmulArgs& a, int64_t token, int64_t row, typename O::F total) {
    constexpr int kRows = 8 * O::kGroups;
    float* out = output_at(a, token) + row;
    if (row + kRows <= a.rows) {
        O::store_rows(out, total);
        return;
    }
    float lanes[kRows];
    O::store_rows(lanes, total);
    for (int64_t r = 0; row + r < a.rows; ++r) out[r] = lanes[r];
}

// Chunks, out of `chunks`, between two emptyings of the running sums.
template <class O>
constexpr int chunks_per_sum(int most, int chunks) {
    int run = chunks;
    while (run > O::dots_per_sum(most)) run /= 2;
    return run;
}

// Products of 32 weights of every row with the same of every token, added up by scale.
template <class O, class Source, int Sub, int Tokens>
[[gnu::always_inline]] inline void multiply(typename O::I (&sum)[Source::kCoding.halves][Tokens],
                                            const uint8_t* p, int64_t stride, int first,
                                            const ActBlock* const (&x)[Tokens], int64_t block) {
    constexpr Coding kCoding = Source::kCoding;
    constexpr int kChunks = 8 / kCoding.halves;
    constexpr int kRun = kCoding.most == kSigned ? 1 : chunks_per_sum<O>(kCoding.most, kChunks);
    typename O::Sum running[Tokens];
    for_chunks([&]<int Chunk>() __attribute__((always_inline)) {
        constexpr int kHalf = Chunk / kChunks;
        const typename O::B w = Source::template codes<Chunk, Sub>(p, stride, first);
#pragma GCC unroll 16
        for (int t = 0; t < Tokens; ++t) {
            typename O::I& total = sum[kHalf][t];
            const typename O::B four = O::broadcast4(x[t][block].q + 4 * Chunk);
            if constexpr (kCoding.most == kSigned) {
                total = O::dot_s8(Chunk % kChunks == 0 ? O::set_i(0) : total, w, four);
            } else {
                running[t] = O::dot_u7(Chunk % kRun == 0 ? O::zero_sum() : running[t], w, four);
                if constexpr (Chunk % kRun == kRun - 1) {
                    const typename O::I done = O::finish(running[t]);
                    total = Chunk % kChunks < kRun ? done : O::add_i(total, done);
                }
            }
        }
    });
}

// What 32 elements add to a row's total, from their exact integer sums.
template <class O, class Source, int Tokens>
[[gnu::always_inline]] inline typename O::F add_part(
    typename O::F total, const Scales<O, Source::kCoding>& s,
    const typename O::I (&sum)[Source::kCoding.halves][Tokens], int t, const ActBlock& x) {
    constexpr Coding kCoding = Source::kCoding;
    constexpr int kOffset = kCoding.most == kSigned ? O::kSignedBias : kCoding.offset;
    typename O::F units = O::zero();
#pragma GCC unroll 2
    for (int half = 0; half < kCoding.halves; ++half) {
        const float x_sum = kCoding.halves == 1 ? x.sum : x.half_sums[half];
        typename O::F dot = O::to_f(sum[half][t]);
        // Whole numbers below 2^24: exact.
        if constexpr (kOffset != 0) dot = O::fma(O::set(static_cast<float>(-kOffset)), O::set(x_sum), dot);
        units = half == 0 ? O::mul(s.scale[half], dot) : O::fma(s.scale[half], dot, units);
        if constexpr (kCoding.shifts) units = O::fma(s.shift[half], O::set(x_sum), units);
    }
    return O::fma(units, O::set(x.d), total);
}

// A tile: `Vectors` vectors of rows, of which each begins `vector_bytes` behind the one before, times
// `Tokens` tokens.
template <class O, class Source, int Vectors, int Tokens>
struct PackedTile {
    const uint8_t* weights;
    int64_t vector_bytes;
    int64_t stride;
    int64_t ahead;  // of a single token's reads
    typename O::F total[Vectors][Tokens];

    void run(const ActBlock* const (&x)[Tokens], int64_t k) {
#pragma GCC unroll 8
        for (int v = 0; v < Vectors; ++v)
#pragma GCC unroll 16
            for (int t = 0; t < Tokens; ++t) total[v][t] = O::zero();
        const uint8_t* p = weights;
        int64_t block = 0;
        for (int64_t i = 0; i < k; i += 32 * Source::kParts, p += Source::kBytes) {
            for_parts<Source>(
                i, k, [&]<int Sub>(int first) __attribute__((always_inline)) {
                    const int part = first + Sub;
#pragma GCC unroll 8
                    for (int v = 0; v < Vectors; ++v) {
                        const uint8_t* at = p + v * vector_bytes;
                        if constexpr (Tokens == 1) {
                            constexpr int kPart = Source::kBytes / Source::kParts;
                            for (int group = 0; group < O::kGroups; ++group)
                                prefetch<kPart>(at + group * stride + part * kPart + ahead);
                        }
                        typename O::I sum[Source::kCoding.halves][Tokens];
                        multiply<O, Source, Sub, Tokens>(sum, at, stride, first, x, block);
                        const auto scales = Source::scales(at, stride, part);
#pragma GCC unroll 16
                        for (int t = 0; t < Tokens; ++t)
                            total[v][t] =
                                add_part<O, Source, Tokens>(total[v][t], scales, sum, t, x[t][block]);
                    }
                    ++block;
                });
        }
    }
};

// What a refined block's residual adds. Seldom, so that it stands once for all tiles.
template <class O, class Source>
[[gnu::noinline]] typename O::F add_residual(typename O::F total, const uint8_t* at, int64_t stride, int part,
                                             const ActBlock& residual) {
    const ActBlock* const x[1] = {&residual};
    typename O::I sum[Source::kCoding.halves][1];
    for (auto& half : sum) half[0] = O::set_i(0);
    const auto run = [&]<int Sub>() {
        if constexpr (Sub < Source::kTogether)
            if (part % Source::kTogether == Sub)
                multiply<O, Source, Sub, 1>(sum, at, stride, part - Sub, x, 0);
    };
    run.template operator()<0>();
    run.template operator()<1>();
    run.template operator()<2>();
    run.template operator()<3>();
    return add_part<O, Source, 1>(total, Source::scales(at, stride, part), sum, 0, residual);
}

// From row 8 * `group` on.
template <class O, class Source, int Vectors, int Tokens>
void matmul_tile(const MatmulArgs& a, const uint8_t* weights, int64_t vector_bytes, int64_t group,
                 int64_t first_token) {
    const ActBlock* x[Tokens];
#pragma GCC unroll 16
    for (int t = 0; t < Tokens; ++t) x[t] = activation_row(a, first_token + t);
    const int64_t stride = 8 * a.row_bytes;
    PackedTile<O, Source, Vectors, Tokens> tile{
        weights, vector_bytes, stride, prefetch_distance(Vectors * vector_bytes), {}};
    tile.run(x, a.k);
    // A copy, in memory: what is looked up by a variable could not stay in registers.
    typename O::F total[Vectors][Tokens];
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v)
#pragma GCC unroll 16
        for (int t = 0; t < Tokens; ++t) total[v][t] = tile.total[v][t];
    for (int64_t t = 0; t < Tokens; ++t) {
        const ActBlock* residuals = residual_row(a, first_token + t);
        for_refined(a, first_token + t, [&](int64_t block) {
            const uint8_t* p = weights + block / Source::kParts * Source::kBytes;
            for (int64_t v = 0; v < Vectors; ++v)
                total[v][t] =
                    add_residual<O, Source>(total[v][t], p + v * vector_bytes, stride,
                                            static_cast<int>(block % Source::kParts), residuals[block]);
        });
        for (int64_t v = 0; v < Vectors; ++v)
            store_group<O>(a, first_token + t, 8 * (group + v * O::kGroups), total[v][t]);
    }
}

inline const uint8_t* group_at(const MatmulArgs& a, int64_t group) {
    return static_cast<const uint8_t*>(a.weights) + group * 8 * a.row_bytes;
}

// `Vectors` vectors of packed rows from `group` on, token by token.
template <class O, template <class> class Format, int Vectors>
void matmul_packed(const MatmulArgs& a, int64_t group) {
    for (int64_t token = 0; token < a.tokens; ++token)
        matmul_tile<O, Format<O>, Vectors, 1>(a, group_at(a, group), O::kGroups * 8 * a.row_bytes, group,
                                              token);
}

// The same for several tokens, which share the work of unpacking in a panel.
template <class O, template <class> class Format, int Vectors>
void matmul_panel(const MatmulArgs& a, int64_t group) {
    using Source = Panel<O, panel_coding<O>(Format<O>::kCoding)>;
    auto* panel = static_cast<uint8_t*>(a.workspace);
    const int64_t vector_bytes = a.k / 32 * Source::kBytes;
    for (int v = 0; v < Vectors; ++v)
        fill_panel<O, Format>(group_at(a, group + v * O::kGroups), 8 * a.row_bytes, a.k,
                              panel + v * vector_bytes);
    for_tiles<O::kPanelTokens>(a.tokens, [&]<int Tokens>(int64_t token) {
        matmul_tile<O, Source, Vectors, Tokens>(a, panel, vector_bytes, group, token);
    });
}

// From `group` on, as long as whole tiles of `Vectors` vectors are left.
template <class O, int Vectors, class F>
int64_t for_vectors(int64_t group, int64_t groups, const F& f) {
    constexpr int kStep = O::kGroups * Vectors;
    for (; group + kStep <= groups; group += kStep) f(group);
    return group;
}

// Decoding one token walks several groups together, so that the memory sees as many streams (Q4_0 from DRAM
// on a 2-core Zen 3: 1.13 times the speed of one group at a time).
template <class O, template <class> class Format>
void matmul_q8_x8(const MatmulArgs& a) {
    using Wide = typename O::Wide;
    const int64_t groups = (a.rows + 7) / 8;
    if (a.tokens == 1 || a.workspace == nullptr) {
        constexpr int kVectors = O::kStreams / Wide::kGroups > 1 ? O::kStreams / Wide::kGroups : 1;
        const int64_t rest = for_vectors<Wide, kVectors>(
            0, groups, [&](int64_t group) { matmul_packed<Wide, Format, kVectors>(a, group); });
        for_vectors<O, 1>(rest, groups, [&](int64_t group) { matmul_packed<O, Format, 1>(a, group); });
    } else {
        const int64_t rest = for_vectors<Wide, Wide::kPanelVectors>(
            0, groups, [&](int64_t group) { matmul_panel<Wide, Format, Wide::kPanelVectors>(a, group); });
        for_vectors<O, 1>(rest, groups, [&](int64_t group) { matmul_panel<O, Format, 1>(a, group); });
    }
}

}  // namespace
}  // namespace plait::backends::cpu::simd
