#pragma once

#include <cstddef>

#include "plait/backends/cpu/simd/dots_k-inl.h"
#include "plait/backends/cpu/simd/matmul_args-inl.h"
#include "plait/backends/cpu/simd/partial-inl.h"

// Block weights in GGUF's row layout with ActBlock activations: integer dot products of 32 elements, one
// float step a block (dots-inl.h). A tile of rows and tokens only shares loads.
namespace plait::backends::cpu::simd {
namespace {

inline const ActBlock* activation_row(const MatmulArgs& a, int64_t token) {
    return reinterpret_cast<const ActBlock*>(activation_at(a, token));
}

inline const ActBlock* residual_row(const MatmulArgs& a, int64_t token) {
    return a.residuals + read_place(a, token) * (a.k / 32);
}

// Which of 8 blocks of a token, from `first` on, are refined: 0 or 1 in a byte for each.
inline uint64_t refined_marks(const MatmulArgs& a, int64_t token, int64_t first) {
    const int64_t blocks = a.k / 32;
    const uint8_t* refined = a.refined + read_place(a, token) * blocks + first;
    uint64_t marks = 0;
    if (blocks - first >= 8)
        __builtin_memcpy(&marks, refined, sizeof marks);
    else
        __builtin_memcpy(&marks, refined, static_cast<size_t>(blocks - first));
    return marks;
}

// Calls f(block) for the refined blocks of a token, in order.
template <class F>
void for_refined(const MatmulArgs& a, int64_t token, F f) {
    for (int64_t first = 0; 32 * first < a.k; first += 8)
        for (uint64_t marks = refined_marks(a, token, first); marks != 0; marks &= marks - 1)
            f(first + __builtin_ctzll(marks) / 8);
}

template <class O, class Dot, int Rows, int Tokens>
void matmul_q8_tile(const MatmulArgs& a, int64_t first_row, int64_t first_token) {
    const auto* weights = static_cast<const uint8_t*>(a.weights) + first_row * a.row_bytes;
    const ActBlock* x[Tokens];
    typename O::F sum[Rows][Tokens];
#pragma GCC unroll 8
    for (int t = 0; t < Tokens; ++t) x[t] = activation_row(a, first_token + t);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 8
        for (int t = 0; t < Tokens; ++t) sum[r][t] = O::zero();
    for (int64_t block = 0; 32 * block < a.k; ++block) {
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) {
            const auto w = Dot::load(weights + r * a.row_bytes, block);
#pragma GCC unroll 8
            for (int t = 0; t < Tokens; ++t) sum[r][t] = add_dot(sum[r][t], w, x[t][block]);
        }
    }
#pragma GCC unroll 8
    for (int t = 0; t < Tokens; ++t) {
        for_refined(a, first_token + t, [&](int64_t block) {
            const ActBlock& residual = residual_row(a, first_token + t)[block];
#pragma GCC unroll 8
            for (int r = 0; r < Rows; ++r) {
                const auto w = Dot::load(weights + r * a.row_bytes, block);
                sum[r][t] = add_dot(sum[r][t], w, residual);
            }
        });
    }
#pragma GCC unroll 8
    for (int t = 0; t < Tokens; ++t)
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) output_at(a, first_token + t)[first_row + r] = O::hsum(sum[r][t]);
}

template <class O, class Dot, int Rows>
void matmul_q8_rows(const MatmulArgs& a, int64_t row) {
    for_tiles<O::kTileTokens>(
        a.tokens, [&]<int Tokens>(int64_t token) { matmul_q8_tile<O, Dot, Rows, Tokens>(a, row, token); });
}

// Tiles as in matmul_f32.
template <class O, class Dot>
void matmul_q8(const MatmulArgs& a) {
    int64_t row = 0;
    if (a.tokens == 1)
        for (; row + O::kStreams <= a.rows; row += O::kStreams)
            matmul_q8_tile<O, Dot, O::kStreams, 1>(a, row, 0);
    else
        for (; row + O::kTileRows <= a.rows; row += O::kTileRows)
            matmul_q8_rows<O, Dot, O::kTileRows>(a, row);
    for (; row < a.rows; ++row) matmul_q8_rows<O, Dot, 1>(a, row);
}

}  // namespace
}  // namespace plait::backends::cpu::simd
