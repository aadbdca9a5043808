#pragma once

#include "plait/backends/cpu/simd/matmul_args-inl.h"
#include "plait/backends/cpu/simd/partial-inl.h"
#include "plait/backends/cpu/simd/weights-inl.h"

// Weights of any format with F32 activations. Every output element owns one vector of 8 partial sums that
// walks along k, 8 elements a step, and is added up at the end; a tile of rows and tokens only shares loads.
namespace plait::backends::cpu::simd {
namespace {

// How a tile's vectors of partial sums lie: each those of one row,
template <class O>
struct OneRow : O {
    static constexpr int kRows = 1;
    template <class Load>
    [[gnu::always_inline]] static typename O::F weights(const uint8_t* const* row, const Load& load) {
        return load(row[0]);
    }
    static typename O::F activations(typename O::F v) { return v; }
};

// or of two, where vectors have 16 lanes.
template <class O>
struct TwoRows : O::Lanes {
    static constexpr int kRows = 2;
    template <class Load>
    [[gnu::always_inline]] static typename O::Lanes::F weights(const uint8_t* const* row, const Load& load) {
        return O::Lanes::join(load(row[0]), load(row[1]));
    }
    static typename O::Lanes::F activations(typename O::F v) { return O::Lanes::twice(v); }
};
template <class O>
constexpr bool kHasTwoRows = O::Lanes::kLanes == 16;

template <class O, class W, class S, int Rows, int Tokens>
struct MatmulF32Tile {
    using F = typename S::F;
    const uint8_t* row[Rows];
    const float* x[Tokens];
    F sum[Rows / S::kRows][Tokens];

    MatmulF32Tile(const MatmulArgs& a, int64_t first_row, int64_t first_token) {
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r)
            row[r] = static_cast<const uint8_t*>(a.weights) + (first_row + r) * a.row_bytes;
#pragma GCC unroll 8
        for (int t = 0; t < Tokens; ++t)
            x[t] = reinterpret_cast<const float*>(activation_at(a, first_token + t));
#pragma GCC unroll 8
        for (auto& sums : sum)
#pragma GCC unroll 8
            for (int t = 0; t < Tokens; ++t) sums[t] = S::zero();
    }

    template <class LoadWeights, class LoadX>
    void step(LoadWeights load_weights, LoadX load_x) {
        F columns[Tokens];
#pragma GCC unroll 8
        for (int t = 0; t < Tokens; ++t) columns[t] = S::activations(load_x(x[t]));
#pragma GCC unroll 8
        for (int r = 0; r < Rows / S::kRows; ++r) {
            const F weights = S::weights(row + r * S::kRows, load_weights);
#pragma GCC unroll 8
            for (int t = 0; t < Tokens; ++t) sum[r][t] = S::fma(weights, columns[t], sum[r][t]);
        }
    }

    template <int Part>
    void part(int64_t block) {
        step([&](const uint8_t* w) { return W::template load<Part>(w, block); },
             [&](const float* column) { return O::load(column + 32 * block + 8 * Part); });
    }

    // The elements of the last, incomplete block that belong to this part and the parts behind it.
    template <int Part>
    void tail(int64_t block, int64_t k) {
        const int64_t begin = 32 * block + 8 * Part;
        if (begin >= k) return;
        if (begin + 8 <= k)
            part<Part>(block);
        else
            partial<Part>(block, k - begin);
        if constexpr (Part < 3) tail<Part + 1>(block, k);
    }

    template <int Part>
    void partial(int64_t block, int64_t n) {
        const int64_t begin = 32 * block + 8 * Part;
        step(
            [&](const uint8_t* w) {
                if constexpr (W::kBlocks)
                    return W::template load<Part>(w, block);
                else
                    return W::load_partial(w, begin, n);
            },
            [&](const float* column) { return load_partial<O>(column + begin, n); });
    }

    void run(int64_t k) {
        int64_t block = 0;
        for (; 32 * block + 32 <= k; ++block) {
            part<0>(block);
            part<1>(block);
            part<2>(block);
            part<3>(block);
        }
        tail<0>(block, k);
    }

    void store(const MatmulArgs& a, int64_t first_row, int64_t first_token) const {
        if constexpr (S::kRows == 2) {
            store_four_by_four(a, first_row, first_token);
        } else if constexpr (Rows * Tokens % 8 == 0 && 8 % Rows == 0) {
#pragma GCC unroll 8
            for (int t = 0; t < Tokens; t += 8 / Rows) store_eight(a, first_row, first_token, t);
        } else {
#pragma GCC unroll 8
            for (int t = 0; t < Tokens; ++t)
#pragma GCC unroll 8
                for (int r = 0; r < Rows; ++r)
                    output_at(a, first_token + t)[first_row + r] = O::hsum(sum[r][t]);
        }
    }

    // Four tokens by four rows, each sum added up as O::hsum does.
    void store_four_by_four(const MatmulArgs& a, int64_t first_row, int64_t first_token) const {
        float sums[16];
        S::store(sums, S::sums_of_halves(sum[0], sum[1]));
        for (int t = 0; t < Tokens; ++t)
            __builtin_memcpy(output_at(a, first_token + t) + first_row, sums + 4 * t, 4 * sizeof(float));
    }

    // Eight sums at a time, each added up as O::hsum does.
    void store_eight(const MatmulArgs& a, int64_t first_row, int64_t first_token, int token) const {
        F v[8];
#pragma GCC unroll 8
        for (int i = 0; i < 8; ++i) v[i] = sum[i % Rows][token + i / Rows];
        O::transpose(v);
        const F even = O::add(O::add(v[0], v[4]), O::add(v[2], v[6]));
        const F odd = O::add(O::add(v[1], v[5]), O::add(v[3], v[7]));
        float lanes[8];
        O::store(lanes, O::add(even, odd));
        for (int t = 0; t < 8 / Rows; ++t)
            __builtin_memcpy(output_at(a, first_token + token + t) + first_row, lanes + t * Rows,
                             Rows * sizeof(float));
    }
};

template <class O, class W, int Rows, int Tokens, class S = OneRow<O>>
void matmul_f32_tile(const MatmulArgs& a, int64_t row, int64_t token) {
    MatmulF32Tile<O, W, S, Rows, Tokens> tile(a, row, token);
    tile.run(a.k);
    tile.store(a, row, token);
}

// The first tokens take two rows to a vector where that is possible.
template <class O, class W, int Rows>
void matmul_f32_rows(const MatmulArgs& a, int64_t row) {
    int64_t first = 0;
    if constexpr (kHasTwoRows<O> && Rows == 4) {
        for (; first + 4 <= a.tokens; first += 4) matmul_f32_tile<O, W, Rows, 4, TwoRows<O>>(a, row, first);
    }
    for_tiles<O::kTileTokens>(a.tokens - first, [&]<int Tokens>(int64_t token) {
        matmul_f32_tile<O, W, Rows, Tokens>(a, row, first + token);
    });
}

// A single token wants several rows in flight: chains of additions to hide, and streams for the memory.
// Several tokens want what fits the registers.
template <class O, class W>
void matmul_f32(const MatmulArgs& a) {
    int64_t row = 0;
    if (a.tokens == 1)
        for (; row + O::kStreams <= a.rows; row += O::kStreams)
            matmul_f32_tile<O, W, O::kStreams, 1>(a, row, 0);
    else if constexpr (W::kRowTiles)
        for (; row + O::kTileRows <= a.rows; row += O::kTileRows) matmul_f32_rows<O, W, O::kTileRows>(a, row);
    for (; row < a.rows; ++row) matmul_f32_rows<O, W, 1>(a, row);
}

}  // namespace
}  // namespace plait::backends::cpu::simd
