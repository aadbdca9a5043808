#pragma once

#include "plait/backends/cpu/simd/matmul_q8-inl.h"

// Block weights in the packed layout (pack_x8.h) with ActBlock activations: a lane is a row, so nothing is
// added across lanes. Per block the integer products of a row are exact; then one float step (two for Q4_1),
// block after block. Vectors of 8 or 16 rows, tiles of any shape: the same additions for each element.
namespace plait::backends::cpu::simd {
namespace {

// A format gives the bytes of a block of one group and, for the integer part of one block,
//   Sum start(x.sum), void multiply(sums of a tile, block, x), I finish(Sum, x.sum),
// and, for its float part, the scales of the rows and what they do.
template <class O>
struct PackedQ8_0 {
    static constexpr int kBytes = 272;
    using Sum = typename O::I;
    struct Scales {
        typename O::F d;
    };

    static Scales scales(const uint8_t* p, int64_t stride) { return {O::load_halves(p, stride)}; }
    static Sum start(const ActBlock& x) { return O::start_s8(x.sum); }

    template <int Tokens>
    static void multiply(Sum (&sum)[Tokens], const uint8_t* p, int64_t stride,
                         const ActBlock* const (&x)[Tokens], int64_t block) {
#pragma GCC unroll 8
        for (int chunk = 0; chunk < 8; ++chunk) {
            const typename O::B w = O::load_rows(p + 16 + 32 * chunk, stride);
#pragma GCC unroll 8
            for (int t = 0; t < Tokens; ++t)
                sum[t] = O::dot_s8(sum[t], w, O::broadcast4(x[t][block].q + 4 * chunk));
        }
    }

    static typename O::F add(typename O::F total, const Scales& s, Sum sum, const ActBlock& x) {
        return O::fma(O::to_f(sum), O::mul(s.d, O::set(x.d)), total);
    }
};

// What Q4_0 and Q4_1 share: chunks of nibbles, the first of them `Header` bytes into the block.
template <class O, int Header>
struct PackedNibbles {
    using Sum = typename O::Sum;
    static Sum start(const ActBlock&) { return O::zero_sum(); }

    template <int Tokens>
    static void multiply(Sum (&sum)[Tokens], const uint8_t* p, int64_t stride,
                         const ActBlock* const (&x)[Tokens], int64_t block) {
#pragma GCC unroll 4
        for (int chunk = 0; chunk < 4; ++chunk) {
            const typename O::B both = O::load_rows(p + Header + 32 * chunk, stride);
            const typename O::B low = O::low_nibbles(both);
            const typename O::B high = O::high_nibbles(both);
#pragma GCC unroll 8
            for (int t = 0; t < Tokens; ++t) {
                const int8_t* q = x[t][block].q + 4 * chunk;
                sum[t] = O::dot_u7(sum[t], low, O::broadcast4(q));
                sum[t] = O::dot_u7(sum[t], high, O::broadcast4(q + 16));
            }
        }
    }
};

template <class O>
struct PackedQ4_0 : PackedNibbles<O, 16> {
    static constexpr int kBytes = 144;
    struct Scales {
        typename O::F d;
    };
    static Scales scales(const uint8_t* p, int64_t stride) { return {O::load_halves(p, stride)}; }
    static typename O::F add(typename O::F total, const Scales& s, typename O::Sum sum, const ActBlock& x) {
        const typename O::I dot = O::sub_i(O::finish(sum), O::set_i(8 * x.sum));
        return O::fma(O::to_f(dot), O::mul(s.d, O::set(x.d)), total);
    }
};

template <class O>
struct PackedQ4_1 : PackedNibbles<O, 32> {
    static constexpr int kBytes = 160;
    struct Scales {
        typename O::F d, m;
    };
    static Scales scales(const uint8_t* p, int64_t stride) {
        return {O::load_halves(p, stride), O::load_halves(p + 16, stride)};
    }
    static typename O::F add(typename O::F total, const Scales& s, typename O::Sum sum, const ActBlock& x) {
        total = O::fma(O::to_f(O::finish(sum)), O::mul(s.d, O::set(x.d)), total);
        return O::fma(s.m, O::set(x.d * static_cast<float>(x.sum)), total);
    }
};

template <class O>
void store_group(const MatmulArgs& a, int64_t token, int64_t row, typename O::F total) {
    constexpr int kRows = 8 * O::kGroups;
    float* out = a.out + token * a.out_stride + row;
    if (row + kRows <= a.rows) {
        O::store_rows(out, total);
        return;
    }
    float lanes[kRows];
    O::store_rows(lanes, total);
    for (int64_t r = 0; row + r < a.rows; ++r) out[r] = lanes[r];
}

// How far ahead of itself each stream of a single token asks the memory for weights. The hardware's own
// prefetching restarts with every row group, which lasts only 18 blocks in a small model; asking for the same
// place in the next tile covers each byte once. A tile too large for any second-level cache has long streams,
// which only need help to run further ahead. docs/performance.md has the numbers.
inline int64_t prefetch_distance(int64_t tile_bytes) {
    constexpr int64_t kLargestTile = 64 * 1024;
    constexpr int64_t kStreamAhead = 1024;
    return tile_bytes <= kLargestTile ? tile_bytes : kStreamAhead;
}

// May point behind the weights: a prefetch does not fault.
template <int Bytes>
void prefetch(const uint8_t* p) {
#pragma GCC unroll 8
    for (int line = 0; line < Bytes; line += 64) __builtin_prefetch(p + line, 0, 2);
}

// `Vectors` vectors of O::kGroups groups each, from group `group`, for `Tokens` tokens.
template <class O, class Format, int Vectors, int Tokens>
void matmul_x8_tile(const MatmulArgs& a, int64_t group, int64_t first_token) {
    const int64_t group_bytes = 8 * a.row_bytes;
    const auto* weights = static_cast<const uint8_t*>(a.weights) + group * group_bytes;
    const int64_t ahead = prefetch_distance(Vectors * O::kGroups * group_bytes);
    const ActBlock* x[Tokens];
    typename O::F total[Vectors][Tokens];
#pragma GCC unroll 8
    for (int t = 0; t < Tokens; ++t) x[t] = activation_row(a, first_token + t);
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v)
#pragma GCC unroll 8
        for (int t = 0; t < Tokens; ++t) total[v][t] = O::zero();
    for (int64_t block = 0; 32 * block < a.k; ++block) {
#pragma GCC unroll 8
        for (int v = 0; v < Vectors; ++v) {
            const uint8_t* p = weights + v * O::kGroups * group_bytes + block * Format::kBytes;
            if constexpr (Tokens == 1) prefetch<Format::kBytes>(p + ahead);
            typename Format::Sum sum[Tokens];
#pragma GCC unroll 8
            for (int t = 0; t < Tokens; ++t) sum[t] = Format::start(x[t][block]);
            Format::multiply(sum, p, group_bytes, x, block);
            const typename Format::Scales scales = Format::scales(p, group_bytes);
#pragma GCC unroll 8
            for (int t = 0; t < Tokens; ++t)
                total[v][t] = Format::add(total[v][t], scales, sum[t], x[t][block]);
        }
    }
#pragma GCC unroll 8
    for (int t = 0; t < Tokens; ++t) {
        const ActBlock* const residuals[1] = {residual_row(a, first_token + t)};
        for_refined(a, first_token + t, [&](int64_t block) {
#pragma GCC unroll 8
            for (int v = 0; v < Vectors; ++v) {
                const uint8_t* p = weights + v * O::kGroups * group_bytes + block * Format::kBytes;
                typename Format::Sum sum[1] = {Format::start(residuals[0][block])};
                Format::multiply(sum, p, group_bytes, residuals, block);
                total[v][t] =
                    Format::add(total[v][t], Format::scales(p, group_bytes), sum[0], residuals[0][block]);
            }
        });
    }
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v)
#pragma GCC unroll 8
        for (int t = 0; t < Tokens; ++t)
            store_group<O>(a, first_token + t, 8 * (group + v * O::kGroups), total[v][t]);
}

template <class O, class Format, int Vectors>
void matmul_x8_groups(const MatmulArgs& a, int64_t group) {
    for_tiles<O::kPackedTokens>(a.tokens, [&]<int Tokens>(int64_t token) {
        matmul_x8_tile<O, Format, Vectors, Tokens>(a, group, token);
    });
}

// Decoding one token walks several groups together, so that the memory sees as many streams (Q4_0 from DRAM
// on a 2-core Zen 3: 1.13 times the speed of one group at a time). Several tokens use the widest vectors
// there are.
template <class O, template <class> class Format>
void matmul_q8_x8(const MatmulArgs& a) {
    using Wide = typename O::Wide;
    const int64_t groups = (a.rows + 7) / 8;
    int64_t group = 0;
    if (a.tokens == 1)
        for (; group + O::kStreams <= groups; group += O::kStreams)
            matmul_x8_tile<O, Format<O>, O::kStreams, 1>(a, group, 0);
    else if constexpr (Wide::kGroups > 1)
        for (; group + Wide::kGroups <= groups; group += Wide::kGroups)
            matmul_x8_groups<Wide, Format<Wide>, 1>(a, group);
    for (; group < groups; ++group) matmul_x8_groups<O, Format<O>, 1>(a, group);
}

}  // namespace
}  // namespace plait::backends::cpu::simd
