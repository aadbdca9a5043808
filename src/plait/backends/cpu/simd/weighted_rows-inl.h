#pragma once

#include "plait/backends/cpu/simd/kernel_table.h"
#include "plait/backends/cpu/simd/partial-inl.h"
#include "plait/backends/cpu/simd/weights-inl.h"

// Weighted sums of stored rows: 32 columns of the output stay in registers while the rows pass by, in order.
namespace plait::backends::cpu::simd {
namespace {

template <class O, class W, int Queries>
struct WeightedColumns {
    using F = typename O::F;
    const WeightedRowsArgs& a;
    int64_t query;
    int64_t block;  // columns 32 * block ..

    float* out(int q, int part) const { return a.out + (query + q) * a.out_stride + 32 * block + 8 * part; }
    const uint8_t* row(int64_t i) const {
        return static_cast<const uint8_t*>(a.rows_begin) + i * a.row_bytes;
    }
    float weight(int q, int64_t i) const { return a.weights[(query + q) * a.weights_stride + i]; }

    void whole() const {
        F sum[Queries][4];
#pragma GCC unroll 4
        for (int q = 0; q < Queries; ++q)
#pragma GCC unroll 4
            for (int part = 0; part < 4; ++part) sum[q][part] = O::load(out(q, part));
        for (int64_t i = 0; i < a.rows; ++i) {
            const uint8_t* p = row(i);
            const F values[4] = {W::template load<0>(p, block), W::template load<1>(p, block),
                                 W::template load<2>(p, block), W::template load<3>(p, block)};
#pragma GCC unroll 4
            for (int q = 0; q < Queries; ++q) {
                const F weights = O::set(weight(q, i));
#pragma GCC unroll 4
                for (int part = 0; part < 4; ++part)
                    sum[q][part] = O::fma(weights, values[part], sum[q][part]);
            }
        }
#pragma GCC unroll 4
        for (int q = 0; q < Queries; ++q)
#pragma GCC unroll 4
            for (int part = 0; part < 4; ++part) O::store(out(q, part), sum[q][part]);
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

template <class O, class W>
void weighted_rows(const WeightedRowsArgs& a) {
    for_tiles<O::kTileRows>(a.queries, [&]<int Queries>(int64_t query) {
        WeightedColumns<O, W, Queries> columns{a, query, 0};
        for (; 32 * columns.block + 32 <= a.width; ++columns.block) columns.whole();
        columns.template tail<0>();
    });
}

}  // namespace
}  // namespace plait::backends::cpu::simd
