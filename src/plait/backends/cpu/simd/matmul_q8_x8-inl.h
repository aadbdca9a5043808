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

// A vector of rows of a token's output, as far as there are rows.
template <class O>
[[gnu::always_inline]] inline void store_group(const MatmulArgs& a, int64_t token, int64_t row,
                                               typename O::F total) {
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

template <class O>
[[gnu::always_inline]] inline typename O::F load_group(const MatmulArgs& a, int64_t token, int64_t row) {
    constexpr int kRows = 8 * O::kGroups;
    const float* out = output_at(a, token) + row;
    if (row + kRows <= a.rows) return O::load_rows_f(out);
    float lanes[kRows] = {};
    for (int64_t r = 0; row + r < a.rows; ++r) lanes[r] = out[r];
    return O::load_rows_f(lanes);
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

// Where the vectors of a tile lie: the first at `weights`, each next one `vector_bytes` behind. From a
// vector's block to its next one are `step` bytes. Row 8 * `group` is the first.
struct TileRows {
    const uint8_t* weights;
    int64_t vector_bytes;
    int64_t step;
    int64_t group;
};

template <class O, class Source, int Vectors, int Tokens>
void matmul_tile(const MatmulArgs& a, const TileRows& rows, int64_t first_token) {
    const ActBlock* x[Tokens];
#pragma GCC unroll 16
    for (int t = 0; t < Tokens; ++t) x[t] = activation_row(a, first_token + t);
    PackedTile<O, Source, Vectors, Tokens> tile{rows.weights, rows.vector_bytes, rows.step, {}};
    tile.run(x, a.k);
#pragma GCC unroll 16
    for (int t = 0; t < Tokens; ++t)
#pragma GCC unroll 8
        for (int v = 0; v < Vectors; ++v)
            store_group<O>(a, first_token + t, 8 * (rows.group + v * O::kGroups), tile.total[v][t]);
}

// Adds to the output what the residuals of a block are worth, of tokens that are refined there.
template <class O, class Source, int Vectors, int Tokens>
[[gnu::noinline]] void add_residual(const MatmulArgs& a, const TileRows& rows, int64_t block,
                                    const int64_t (&token)[Tokens]) {
    const int part = static_cast<int>(block % Source::kParts);
    const uint8_t* at = rows.weights + block / Source::kParts * rows.step;
    const ActBlock* x[Tokens];
#pragma GCC unroll 16
    for (int t = 0; t < Tokens; ++t) x[t] = residual_row(a, token[t]);
    const auto run = [&]<int Sub>() __attribute__((always_inline)) {
        if constexpr (Sub < Source::kTogether) {
            if (part % Source::kTogether != Sub) return;
            PartSums<O, Source, Vectors, Tokens> sum;
            multiply_part<O, Source, Sub, Vectors, Tokens>(sum, at, rows.vector_bytes, part - Sub, x, block);
#pragma GCC unroll 8
            for (int v = 0; v < Vectors; ++v) {
                const auto scales = Source::scales(at + v * rows.vector_bytes, Source::kBytes, part);
                const int64_t row = 8 * (rows.group + v * O::kGroups);
#pragma GCC unroll 16
                for (int t = 0; t < Tokens; ++t)
                    store_group<O>(a, token[t], row,
                                   add_part<O, Source, Tokens>(load_group<O>(a, token[t], row), scales,
                                                               sum[v], t, x[t][block]));
            }
        }
    };
    run.template operator()<0>();
    run.template operator()<1>();
    run.template operator()<2>();
    run.template operator()<3>();
}

// The refined ones of some tokens, in order, for each of 8 blocks.
class RefinedTokens {
  public:
    static constexpr int kMost = 128;

    RefinedTokens(const MatmulArgs& a, int64_t first_token, int tokens, int64_t first_block) {
        for (int begin = 0; begin < tokens; begin += 64) {
            const int here = tokens - begin < 64 ? tokens - begin : 64;
            uint64_t bits[8] = {};
            for (int t = 0; t < here; t += 8) {
                const uint64_t eight = bits_of_eight(a, first_token + begin + t, here - t, first_block);
#pragma GCC unroll 8
                for (int b = 0; b < 8; ++b) bits[b] |= (eight >> 8 * b & 255) << t;
            }
            for (int b = 0; b < 8; ++b)
                for (uint64_t left = bits[b]; left != 0; left &= left - 1)
                    tokens_[b][count_[b]++] = static_cast<uint8_t>(begin + __builtin_ctzll(left));
        }
    }
    const uint8_t* begin(int block) const { return tokens_[block]; }
    const uint8_t* end(int block) const { return tokens_[block] + count_[block]; }

  private:
    // A byte for each block, in which a bit is a token's mark: marks are 0 or 1 in a byte, so that those of
    // up to eight tokens fit in one another's gaps.
    static uint64_t bits_of_eight(const MatmulArgs& a, int64_t first_token, int tokens, int64_t first_block) {
        uint64_t bits = 0;
        if (tokens >= 8 && a.read_at == nullptr && a.k / 32 - first_block >= 8) {
            const uint8_t* marks = a.refined + first_token * (a.k / 32) + first_block;
#pragma GCC unroll 8
            for (int t = 0; t < 8; ++t, marks += a.k / 32) {
                uint64_t of_token;
                __builtin_memcpy(&of_token, marks, sizeof of_token);
                bits |= of_token << t;
            }
            return bits;
        }
        for (int t = 0; t < 8 && t < tokens; ++t) bits |= refined_marks(a, first_token + t, first_block) << t;
        return bits;
    }

    uint8_t tokens_[8][kMost];
    int count_[8] = {};
};

// What the refined blocks of some tokens' activations add to finished products: block after block, so that a
// token's are added in their order and the tokens refined in a block share its weights.
template <class O, class Source, int Vectors>
void add_residuals(const MatmulArgs& a, const TileRows& rows, int64_t first_token, int64_t tokens) {
    constexpr int kBlocks = 8, kTogether = 4;
    for (; tokens > 0; first_token += RefinedTokens::kMost, tokens -= RefinedTokens::kMost) {
        const auto here = static_cast<int>(tokens < RefinedTokens::kMost ? tokens : RefinedTokens::kMost);
        for (int64_t first = 0; 32 * first < a.k; first += kBlocks) {
            const RefinedTokens refined(a, first_token, here, first);
            for (int b = 0; b < kBlocks; ++b) {
                const uint8_t* next = refined.begin(b);
                const uint8_t* const end = refined.end(b);
                for (; end - next >= kTogether; next += kTogether)
                    add_residual<O, Source, Vectors, kTogether>(
                        a, rows, first + b,
                        {first_token + next[0], first_token + next[1], first_token + next[2],
                         first_token + next[3]});
                for (; next < end; ++next)
                    add_residual<O, Source, Vectors, 1>(a, rows, first + b, {first_token + *next});
            }
        }
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
    const TileRows rows{group_at<Source>(a, group), Source::kBytes, 2 * Source::kBytes, group};
    for (int64_t token = 0; token < a.tokens; ++token) {
        matmul_tile<O, Source, 2 / O::kGroups, 1>(a, rows, token);
        for_refined(a, token, [&](int64_t block) {
            add_residual<O, Source, 2 / O::kGroups, 1>(a, rows, block, {token});
        });
    }
}

// Several tokens share the work of unpacking rows from `group` on in a panel, or in one for each vector of a
// tile, whose blocks alternate. fill(group, panel, step) fills one.
template <class O, class Source, int Vectors, class Fill>
void matmul_panels(const MatmulArgs& a, int64_t group, const Fill& fill) {
    auto* panels = static_cast<uint8_t*>(a.workspace);
    constexpr int64_t kStep = Vectors * Source::kBytes;
    for (int v = 0; v < Vectors; ++v) fill(group + v * O::kGroups, panels + v * Source::kBytes, kStep);
    const TileRows rows{panels, Source::kBytes, kStep, group};
    // Of the rows that are unpacked next, most likely, a little is asked for with each tile.
    const int64_t bytes = 8 * O::kGroups * Vectors * a.row_bytes;
    const uint8_t* next = static_cast<const uint8_t*>(a.weights) + group * 8 * a.row_bytes + bytes;
    for_tiles<O::kPanelTokens>(a.tokens, [&]<int Tokens>(int64_t token) {
        prefetch_for_later(next + bytes * token / a.tokens, next + bytes * (token + Tokens) / a.tokens);
        matmul_tile<O, Source, Vectors, Tokens>(a, rows, token);
    });
    add_residuals<O, Source, Vectors>(a, rows, 0, a.tokens);
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
