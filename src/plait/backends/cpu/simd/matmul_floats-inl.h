#pragma once

#include "plait/backends/cpu/simd/matmul_args-inl.h"
#include "plait/backends/cpu/simd/partial-inl.h"
#include "plait/backends/cpu/simd/prefetch-inl.h"
#include "plait/backends/cpu/simd/weights-inl.h"

// Weights in F32, F16 and BF16, used where they lie, with F32 activations. Every output element owns one
// vector of the widest kind (O::Lanes) of partial sums: lane j adds up elements j, j + kLanes, ... in order,
// and the lanes are added up at the end. A tile of rows, as many as there are streams, and of tokens only
// shares loads.
namespace plait::backends::cpu::simd {
namespace {

constexpr int64_t kFloatRows = 32;  // whose sums wait to be added up together
// Rows that the tiles of tokens read in turn, so that all but the first find them in the second cache.
inline int64_t float_rows(int64_t row_bytes) {
    constexpr int64_t kMostBytes = 256 * 1024;
    for (int64_t rows = kFloatRows; rows > 8; rows /= 2)
        if (rows * row_bytes <= kMostBytes) return rows;
    return 8;
}

template <class L, int Tokens>
struct FloatSums {
    alignas(64) float lanes[Tokens][kFloatRows][L::kLanes];
};

// Elements i .. of a row, zeros behind k.
template <class L, class W>
typename L::F last_elements(const uint8_t* row, int64_t i, int64_t k) {
    alignas(4) uint8_t bytes[L::kLanes * W::kElementBytes] = {};
    const uint8_t* from = W::at(row, i);
    for (int64_t j = 0; j < (k - i) * W::kElementBytes; ++j) bytes[j] = from[j];
    return W::template load<0>(bytes, 0);
}

template <class L, template <class> class Row, int Rows, int Tokens>
struct FloatTile {
    using F = typename L::F;
    using W = Row<L>;
    using X = RowF32<L>;
    const uint8_t* w;
    int64_t row_bytes;
    const uint8_t* const (&x)[Tokens];
    F sum[Rows][Tokens];

    template <class LoadWeights, class LoadX>
    [[gnu::always_inline]] void step(const LoadWeights& load_weights, const LoadX& load_x) {
        F columns[Tokens];
#pragma GCC unroll 8
        for (int t = 0; t < Tokens; ++t) columns[t] = L::held(load_x(x[t]));
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) {
            const F weights = L::held(load_weights(w + r * row_bytes));
#pragma GCC unroll 8
            for (int t = 0; t < Tokens; ++t) sum[r][t] = L::fma(weights, columns[t], sum[r][t]);
        }
    }
    [[gnu::always_inline]] void add(int64_t i) {
        step([&](const uint8_t* row) { return W::template load<0>(W::at(row, i), 0); },
             [&](const uint8_t* row) { return X::template load<0>(X::at(row, i), 0); });
    }

    // Asks the memory meanwhile for as many bytes as it reads, from `next` on, in the order in which they
    // lie; nullptr: not at all.
    void run(int64_t k, const uint8_t* next) {
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 8
            for (int t = 0; t < Tokens; ++t) sum[r][t] = L::zero();
        constexpr int64_t kLine = 64 / W::kElementBytes;
        int64_t i = 0;
        for (; i + kLine <= k; i += kLine) {
            if (next != nullptr) {
                prefetch<64 * Rows>(next);
                next += 64 * Rows;
            }
#pragma GCC unroll 4
            for (int64_t j = i; j < i + kLine; j += L::kLanes) add(j);
        }
        for (; i + L::kLanes <= k; i += L::kLanes) add(i);
        if (i < k)
            step([&](const uint8_t* row) { return last_elements<L, W>(row, i, k); },
                 [&](const uint8_t* row) { return last_elements<L, X>(row, i, k); });
    }

    void keep(FloatSums<L, Tokens>& sums, int64_t row) const {
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 8
            for (int t = 0; t < Tokens; ++t) L::store(sums.lanes[t][row + r], sum[r][t]);
    }
};

// out[r] = the lanes of row r added up as L::hsum does, eight rows at a time.
template <class O, class L>
void store_sums(const float (&lanes)[kFloatRows][L::kLanes], int64_t rows, float* out) {
    for (int64_t row = 0; row < rows; row += 8) {
        typename O::F v[8];
#pragma GCC unroll 8
        for (int i = 0; i < 8; ++i) {
            v[i] = O::load(lanes[row + i]);
            if constexpr (L::kLanes == 16) v[i] = O::add(v[i], O::load(lanes[row + i] + 8));
        }
        O::transpose(v);
        const typename O::F even = O::add(O::add(v[0], v[4]), O::add(v[2], v[6]));
        const typename O::F odd = O::add(O::add(v[1], v[5]), O::add(v[3], v[7]));
        if (row + 8 <= rows)
            O::store(out + row, O::add(even, odd));
        else
            store_partial<O>(out + row, rows - row, O::add(even, odd));
    }
}

// Up to kFloatRows rows times `Tokens` tokens.
template <class O, template <class> class Row, int Tokens>
void matmul_floats_rows(const MatmulArgs& a, int64_t first_row, int64_t rows, int64_t token) {
    using L = typename O::Lanes;
    const uint8_t* x[Tokens];
    for (int t = 0; t < Tokens; ++t) x[t] = activation_at(a, token + t);
    const uint8_t* weights = static_cast<const uint8_t*>(a.weights) + first_row * a.row_bytes;
    FloatSums<L, Tokens> sums;
    // The first tile is what brings rows from the memory. Wide loads of F32 are slower with prefetching.
    const bool ask = token == 0 && Row<L>::kElementBytes < 4;
    const auto run = [&]<int Rows>(int64_t row) {
        FloatTile<L, Row, Rows, Tokens> tile{weights + row * a.row_bytes, a.row_bytes, x, {}};
        tile.run(a.k, ask ? tile.w + Rows * a.row_bytes : nullptr);
        tile.keep(sums, row);
    };
    int64_t row = 0;
    for (; row + O::kStreams <= rows; row += O::kStreams) run.template operator()<O::kStreams>(row);
    for (; row < rows; ++row) run.template operator()<1>(row);
    for (int t = 0; t < Tokens; ++t)
        store_sums<O, L>(sums.lanes[t], rows, output_at(a, token + t) + first_row);
}

template <class O, template <class> class Row>
void matmul_floats(const MatmulArgs& a) {
    constexpr int kTokens = 2 * O::Lanes::kLaneRows / O::kStreams;  // sums that fill the registers
    const int64_t at_once = float_rows(a.row_bytes);
    for (int64_t row = 0; row < a.rows; row += at_once) {
        const int64_t rows = a.rows - row < at_once ? a.rows - row : at_once;
        for_tiles<kTokens>(a.tokens, [&]<int Tokens>(int64_t token) {
            matmul_floats_rows<O, Row, Tokens>(a, row, rows, token);
        });
    }
}

}  // namespace
}  // namespace plait::backends::cpu::simd
