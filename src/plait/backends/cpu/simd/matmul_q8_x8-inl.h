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

// A single token reads each weight once: the memory is the limit. It is fastest when asked for one line after
// the other, so both groups of a pair are worked on together, and the lines that come next are asked for some
// way ahead. docs/performance.md has the numbers.
constexpr int64_t kPrefetchAhead = 4 * 1024;

// As `multiply`, with joined chunks: two tokens at a time. The last of an odd number keeps itself company.
template <class O, class Source, int Tokens>
[[gnu::always_inline]] inline void multiply_pairs(typename O::I (&sum)[Source::kCoding.halves][Tokens],
                                                  const uint8_t* p, const ActBlock* const (&x)[Tokens],
                                                  int64_t block) {
    constexpr int kPairs = (Tokens + 1) / 2;
    constexpr int kChunks = 8 / Source::kCoding.halves;
    typename O::I first[kPairs], second[kPairs];
    for_chunks([&]<int Chunk>() __attribute__((always_inline)) {
        if constexpr (Chunk % 2 == 0) {
            const typename O::B rows[2] = {Source::template codes<Chunk, 0>(p, 0, 0),
                                           Source::template codes<Chunk + 1, 0>(p, 0, 0)};
#pragma GCC unroll 16
            for (int pair = 0; pair < kPairs; ++pair) {
                const int t = 2 * pair, other = t + 1 < Tokens ? t + 1 : t;
                const bool begins = Chunk % kChunks == 0;
                const typename O::B eight =
                    O::broadcast_pair(x[t][block].q + 4 * Chunk, x[other][block].q + 4 * Chunk);
                first[pair] = O::dot_pairs(begins ? O::set_i(0) : first[pair], rows[0], eight);
                second[pair] = O::dot_pairs(begins ? O::set_i(0) : second[pair], rows[1], eight);
                if constexpr (Chunk % kChunks == kChunks - 2) {
                    auto& totals = sum[Chunk / kChunks];
                    totals[t] = O::even_lanes(first[pair], second[pair]);
                    if (other != t) totals[other] = O::odd_lanes(first[pair], second[pair]);
                }
            }
        }
    });
}

// Integer sums of a part of a block, of every vector, by scale and token.
template <class O, class Source, int Vectors, int Tokens>
using PartSums = typename O::I[Vectors][Source::kCoding.halves][Tokens];

// What the sum of a half (the whole, where there is one scale) begins with.
template <class O, Coding kCoding>
[[gnu::always_inline]] inline typename O::I begin_sum(const ActBlock& x, int half) {
    if constexpr (!begins_biased<O>(kCoding)) return O::set_i(0);
    return O::set_i(kCoding.halves == 1 ? x.start : x.half_starts[half]);
}

// Products of 32 weights of every row with the same of every token, added up by scale. What is read of a
// token serves all vectors, of which each begins `vector_bytes` behind the one before.
template <class O, class Source, int Sub, int Vectors, int Tokens>
[[gnu::always_inline]] inline void multiply(PartSums<O, Source, Vectors, Tokens>& sum, const uint8_t* p,
                                            int64_t vector_bytes, int first,
                                            const ActBlock* const (&x)[Tokens], int64_t block) {
    constexpr Coding kCoding = Source::kCoding;
    constexpr int kChunks = 8 / kCoding.halves;
    constexpr int kRun = chunks_per_sum<O>(kCoding.most, kChunks);
    typename O::Sum running[Vectors][Tokens];
    for_chunks([&]<int Chunk>() __attribute__((always_inline)) {
        constexpr int kHalf = Chunk / kChunks;
        constexpr bool kBegins = Chunk % kChunks == 0;
        typename O::B w[Vectors];
#pragma GCC unroll 8
        for (int v = 0; v < Vectors; ++v)
            w[v] = Source::template codes<Chunk, Sub>(p + v * vector_bytes, Source::kBytes, first);
#pragma GCC unroll 16
        for (int t = 0; t < Tokens; ++t) {
            typename O::B four = O::broadcast4(x[t][block].q + 4 * Chunk);
            if constexpr (O::kPanelVectors > 1 && Vectors > 1) four = O::held(four);
#pragma GCC unroll 8
            for (int v = 0; v < Vectors; ++v) {
                typename O::I& total = sum[v][kHalf][t];
                if constexpr (kCoding.most == kSigned) {
                    total =
                        O::dot_s8(kBegins ? begin_sum<O, kCoding>(x[t][block], kHalf) : total, w[v], four);
                } else if constexpr (kCoding.most == kBiased) {
                    total =
                        O::dot_u7(kBegins ? begin_sum<O, kCoding>(x[t][block], kHalf) : total, w[v], four);
                } else {
                    running[v][t] = O::dot_u7(Chunk % kRun == 0 ? O::zero_sum() : running[v][t], w[v], four);
                    if constexpr (Chunk % kRun == kRun - 1) {
                        const typename O::I done = O::finish(running[v][t]);
                        total = Chunk % kChunks < kRun ? done : O::add_i(total, done);
                    }
                }
            }
        }
    });
}

// As `multiply`, one vector after the other where chunks are joined.
template <class O, class Source, int Sub, int Vectors, int Tokens>
[[gnu::always_inline]] inline void multiply_part(PartSums<O, Source, Vectors, Tokens>& sum, const uint8_t* p,
                                                 int64_t vector_bytes, int first,
                                                 const ActBlock* const (&x)[Tokens], int64_t block) {
    if constexpr (requires { requires Source::kJoined; }) {
#pragma GCC unroll 8
        for (int v = 0; v < Vectors; ++v)
            multiply_pairs<O, Source, Tokens>(sum[v], p + v * vector_bytes, x, block);
    } else {
        multiply<O, Source, Sub, Vectors, Tokens>(sum, p, vector_bytes, first, x, block);
    }
}

// What 32 elements add to a row's total, from their exact integer sums.
template <class O, class Source, int Tokens>
[[gnu::always_inline]] inline typename O::F add_part(
    typename O::F total, const Scales<O, Source::kCoding>& s,
    const typename O::I (&sum)[Source::kCoding.halves][Tokens], int t, const ActBlock& x) {
    constexpr Coding kCoding = Source::kCoding;
    constexpr int kOffset = begins_biased<O>(kCoding) ? 0 : kCoding.offset;
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
// `Tokens` tokens. From a vector's block to its next one are `step` bytes.
template <class O, class Source, int Vectors, int Tokens>
struct PackedTile {
    const uint8_t* weights;
    int64_t vector_bytes;
    int64_t step;
    typename O::F total[Vectors][Tokens];

    void run(const ActBlock* const (&x)[Tokens], int64_t k) {
#pragma GCC unroll 8
        for (int v = 0; v < Vectors; ++v)
#pragma GCC unroll 16
            for (int t = 0; t < Tokens; ++t) total[v][t] = O::zero();
        constexpr int kPart = Source::kBytes / Source::kParts * O::kGroups * Vectors;
        const uint8_t* p = weights;
        int64_t block = 0;
        for (int64_t i = 0; i < k; i += 32 * Source::kParts, p += step) {
            for_parts<Source>(
                i, k, [&]<int Sub>(int first) __attribute__((always_inline)) {
                    const int part = first + Sub;
                    if constexpr (Tokens == 1) prefetch<kPart>(p + part * kPart + kPrefetchAhead);
                    PartSums<O, Source, Vectors, Tokens> sum;
                    multiply_part<O, Source, Sub, Vectors, Tokens>(sum, p, vector_bytes, first, x, block);
#pragma GCC unroll 8
                    for (int v = 0; v < Vectors; ++v) {
                        const auto scales = Source::scales(p + v * vector_bytes, Source::kBytes, part);
#pragma GCC unroll 16
                        for (int t = 0; t < Tokens; ++t)
                            total[v][t] =
                                add_part<O, Source, Tokens>(total[v][t], scales, sum[v], t, x[t][block]);
                    }
                    ++block;
                });
        }
    }
};

// What a refined block's residual adds to the totals of vectors, `stride` apart. Seldom, so that it stands
// once for all tiles.
template <class O, class Source, int Vectors>
[[gnu::noinline]] void add_residual(typename O::F* totals, int64_t stride, const uint8_t* at,
                                    int64_t vector_bytes, int part, const ActBlock& residual) {
    const ActBlock* const x[1] = {&residual};
    PartSums<O, Source, Vectors, 1> sum;
    for (auto& vector : sum)
        for (auto& half : vector) half[0] = O::set_i(0);
    const auto run = [&]<int Sub>() {
        if constexpr (Sub < Source::kTogether)
            if (part % Source::kTogether == Sub)
                multiply_part<O, Source, Sub, Vectors, 1>(sum, at, vector_bytes, part - Sub, x, 0);
    };
    run.template operator()<0>();
    run.template operator()<1>();
    run.template operator()<2>();
    run.template operator()<3>();
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) {
        const auto scales = Source::scales(at + v * vector_bytes, Source::kBytes, part);
        totals[v * stride] = add_part<O, Source, 1>(totals[v * stride], scales, sum[v], 0, residual);
    }
}

// From row 8 * `group` on.
template <class O, class Source, int Vectors, int Tokens>
void matmul_tile(const MatmulArgs& a, const uint8_t* weights, int64_t vector_bytes, int64_t step,
                 int64_t group, int64_t first_token) {
    const ActBlock* x[Tokens];
#pragma GCC unroll 16
    for (int t = 0; t < Tokens; ++t) x[t] = activation_row(a, first_token + t);
    PackedTile<O, Source, Vectors, Tokens> tile{weights, vector_bytes, step, {}};
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
            add_residual<O, Source, Vectors>(&total[0][t], Tokens, weights + block / Source::kParts * step,
                                             vector_bytes, static_cast<int>(block % Source::kParts),
                                             residuals[block]);
        });
        for (int64_t v = 0; v < Vectors; ++v)
            store_group<O>(a, first_token + t, 8 * (group + v * O::kGroups), total[v][t]);
    }
}

// The first block of a group.
template <class Source>
const uint8_t* group_at(const MatmulArgs& a, int64_t group) {
    return static_cast<const uint8_t*>(a.weights) + group / 2 * 16 * a.row_bytes + group % 2 * Source::kBytes;
}

// A pair of groups of packed rows, token by token.
template <class O, template <class> class Format>
void matmul_packed(const MatmulArgs& a, int64_t group) {
    using Source = Format<O>;
    for (int64_t token = 0; token < a.tokens; ++token)
        matmul_tile<O, Source, 2 / O::kGroups, 1>(a, group_at<Source>(a, group), Source::kBytes,
                                                  2 * Source::kBytes, group, token);
}

// Several tokens share the work of unpacking rows from `group` on in a panel, or in one for each vector of a
// tile, whose blocks alternate. fill(group, panel, step) fills one.
template <class O, class Source, int Vectors, class Fill>
void matmul_panels(const MatmulArgs& a, int64_t group, const Fill& fill) {
    auto* panels = static_cast<uint8_t*>(a.workspace);
    constexpr int64_t kStep = Vectors * Source::kBytes;
    for (int v = 0; v < Vectors; ++v) fill(group + v * O::kGroups, panels + v * Source::kBytes, kStep);
    for_tiles<O::kPanelTokens>(a.tokens, [&]<int Tokens>(int64_t token) {
        matmul_tile<O, Source, Vectors, Tokens>(a, panels, Source::kBytes, kStep, group, token);
    });
}

template <class O, class Source, class Fill>
void matmul_by_panels(const MatmulArgs& a, const Fill& fill) {
    const int64_t groups = a.tokens > 0 ? (a.rows + 7) / 8 : 0;
    int64_t group = 0;
    if constexpr (O::kPanelVectors == 2)
        for (; group + O::kGroups < groups; group += 2 * O::kGroups)
            matmul_panels<O, Source, 2>(a, group, fill);
    for (; group < groups; group += O::kGroups) matmul_panels<O, Source, 1>(a, group, fill);
}

// Several tokens where there are registers that are tiles: matmul_q8_x8_tiles-inl.h.
template <class O, template <class> class Format>
void matmul_tiles(const MatmulArgs& a);

template <class O, template <class> class Format>
void matmul_q8_x8(const MatmulArgs& a) {
    using Wide = typename O::Wide;
    if (a.tokens == 1 || a.workspace == nullptr) {
        for (int64_t group = 0; 8 * group < a.rows; group += 2) matmul_packed<Wide, Format>(a, group);
    } else if constexpr (requires { typename O::Tiles; }) {
        matmul_tiles<O, Format>(a);
    } else {
        using Source = Panel<Wide, panel_coding<Wide>(Format<Wide>::kCoding)>;
        matmul_by_panels<Wide, Source>(a, [&](int64_t group, uint8_t* panel, int64_t step) {
            fill_panel<Wide, Format>(group_at<Format<Wide>>(a, group), a.k, panel, step);
        });
    }
}

}  // namespace
}  // namespace plait::backends::cpu::simd
