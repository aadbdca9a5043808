#pragma once

#include "plait/backends/cpu/simd/kernel_table.h"
#include "plait/backends/cpu/simd/partial-inl.h"
#include "plait/backends/cpu/simd/weights-inl.h"

// Weighted sums of stored rows: 32 columns of the output stay in registers while the rows pass by, in order.
// Whole blocks take the widest vectors that the format can be read to, Row<L>; the end of a row takes Row<O>.
namespace plait::backends::cpu::simd {
namespace {

template <class O, template <class> class Row, class L, int Queries>
struct WeightedColumns {
    using F = typename O::F;
    using W = Row<O>;
    static constexpr int kVectors = 32 / L::kLanes;
    const WeightedRowsArgs& a;
    int64_t query;
    int64_t block;  // columns 32 * block ..

    float* out(int q, int part) const { return a.out + (query + q) * a.out_stride + 32 * block + 8 * part; }
    const uint8_t* row(int64_t i) const {
        return static_cast<const uint8_t*>(a.rows_begin) + i * a.row_bytes;
    }
    float weight(int q, int64_t i) const { return a.weights[(query + q) * a.weights_stride + i]; }

    void load_block(const uint8_t* p, typename L::F (&values)[kVectors]) const {
        values[0] = Row<L>::template load<0>(p, block);
        if constexpr (kVectors == 4) {
            values[1] = Row<L>::template load<1>(p, block);
            values[3] = Row<L>::template load<3>(p, block);
        }
        values[kVectors / 2] = Row<L>::template load<2>(p, block);
    }

    void whole() const {
        using Wide = typename L::F;
        Wide sum[Queries][kVectors];
#pragma GCC unroll 4
        for (int q = 0; q < Queries; ++q)
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) sum[q][v] = L::load(out(q, 0) + v * L::kLanes);
        for (int64_t i = 0; i < a.rows; ++i) {
            const uint8_t* p = row(i);
            Wide values[kVectors];
            load_block(p, values);
#pragma GCC unroll 4
            for (int q = 0; q < Queries; ++q) {
                const Wide weights = L::set(weight(q, i));
#pragma GCC unroll 4
                for (int v = 0; v < kVectors; ++v) sum[q][v] = L::fma(weights, values[v], sum[q][v]);
            }
        }
#pragma GCC unroll 4
        for (int q = 0; q < Queries; ++q)
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) L::store(out(q, 0) + v * L::kLanes, sum[q][v]);
    }

    // One part of 8 columns, of which the first n exist.
    template <int Part>
    void partial(int64_t n) const {
        for (int q = 0; q < Queries; ++q) {
            F sum = load_partial<O>(out(q, Part), n);
            for (int64_t i = 0; i < a.rows; ++i)
                sum = O::fma(O::set(weight(q, i)), load<Part>(row(i), n), sum);
            store_partial<O>(out(q, Part), n, sum);
        }
    }

    template <int Part>
    F load(const uint8_t* p, int64_t n) const {
        if constexpr (W::kBlocks) {
            return W::template load<Part>(p, block);
        } else {
            return n == 8 ? W::template load<Part>(p, block) : W::load_partial(p, 32 * block + 8 * Part, n);
        }
    }

    template <int Part>
    void tail() const {
        const int64_t left = a.width - (32 * block + 8 * Part);
        if (left <= 0) return;
        partial<Part>(left < 8 ? left : 8);
        if constexpr (Part < 3) tail<Part + 1>();
    }
};

template <class O, template <class> class Row, class L = typename O::Lanes>
void weighted_rows(const WeightedRowsArgs& a) {
    for_tiles<O::kTileRows>(a.queries, [&]<int Queries>(int64_t query) {
        WeightedColumns<O, Row, L, Queries> columns{a, query, 0};
        for (; 32 * columns.block + 32 <= a.width; ++columns.block) columns.whole();
        columns.template tail<0>();
    });
}

}  // namespace
}  // namespace plait::backends::cpu::simd
