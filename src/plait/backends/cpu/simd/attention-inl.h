#pragma once

#include "plait/backends/cpu/simd/exp-inl.h"
#include "plait/backends/cpu/simd/kernel_table.h"
#include "plait/backends/cpu/simd/partial-inl.h"
#include "plait/backends/cpu/simd/weights-inl.h"

// Attention of many queries to the same cached rows: the rows are unpacked once, keys with the features of 32
// of them side by side, values in panels of 32 columns, and then multiplied in tiles that fill the registers.
// O::Lanes is the widest vector of the instruction set: kLanes floats, kLaneRows queries to a tile of two.
namespace plait::backends::cpu::simd {
namespace {

template <class O, class W, int Part>
typename O::F load_part(const uint8_t* row, int64_t block, int64_t width) {
    if constexpr (!W::kBlocks) {
        const int64_t begin = 32 * block + 8 * Part;
        if (width - begin < 8) return W::load_partial(row, begin, width - begin);
    }
    return W::template load<Part>(row, block);
}

// Features 8 * Part .. of a block of features, for up to 8 keys.
template <class O, class W, int Part>
void unpack_keys_part(const UnpackArgs& a, const uint8_t* const (&row)[8], int64_t first, int64_t block) {
    if (32 * block + 8 * Part >= a.width) return;
    typename O::F v[8];
#pragma GCC unroll 8
    for (int r = 0; r < 8; ++r) v[r] = load_part<O, W, Part>(row[r], block, a.width);
    O::transpose(v);
    float* out = a.out + (32 * block + 8 * Part) * kKeyBlock + first;
    const int64_t n = a.rows - first;
    if (n >= 8) {
#pragma GCC unroll 8
        for (int i = 0; i < 8; ++i) O::store(out + i * kKeyBlock, v[i]);
    } else {
        for (int i = 0; i < 8; ++i) store_partial<O>(out + i * kKeyBlock, n, v[i]);
    }
}

template <class O, class W>
void unpack_keys(const UnpackArgs& a) {
    for (int64_t first = 0; first < a.rows; first += 8) {
        const uint8_t* row[8];
        for (int r = 0; r < 8; ++r) {
            const int64_t last = a.rows - 1;
            row[r] = static_cast<const uint8_t*>(a.rows_begin) +
                     (first + r < last ? first + r : last) * a.row_bytes;
        }
        for (int64_t block = 0; 32 * block < a.width; ++block) {
            unpack_keys_part<O, W, 0>(a, row, first, block);
            unpack_keys_part<O, W, 1>(a, row, first, block);
            unpack_keys_part<O, W, 2>(a, row, first, block);
            unpack_keys_part<O, W, 3>(a, row, first, block);
        }
    }
}

template <class O, class W, int Part>
void unpack_values_part(const UnpackArgs& a, const uint8_t* row, float* out, int64_t block) {
    const bool exists = 32 * block + 8 * Part < a.width;
    O::store(out + 8 * Part, exists ? load_part<O, W, Part>(row, block, a.width) : O::zero());
}

template <class O, class W>
void unpack_values(const UnpackArgs& a) {
    for (int64_t block = 0; 32 * block < a.width; ++block) {
        for (int64_t i = 0; i < a.rows; ++i) {
            const uint8_t* row = static_cast<const uint8_t*>(a.rows_begin) + i * a.row_bytes;
            float* out = a.out + (block * kValueBlock + i) * 32;
            unpack_values_part<O, W, 0>(a, row, out, block);
            unpack_values_part<O, W, 1>(a, row, out, block);
            unpack_values_part<O, W, 2>(a, row, out, block);
            unpack_values_part<O, W, 3>(a, row, out, block);
        }
    }
}

// Partial sums of Rows queries times 2 * kLanes keys.
template <class L, int Rows>
struct ScoreSums {
    float values[Rows][2 * L::kLanes];
};

// One partial sum, over the features `first`, first + 8, ..., plus those in `others` in turn.
template <class L, int Rows>
void partial_scores(const ScoresArgs& a, int64_t query, int64_t key, int64_t first,
                    const ScoreSums<L, Rows>* const* others, int n_others, float* out, int64_t out_stride) {
    using F = typename L::F;
    F sum[Rows][2];
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) sum[r][0] = sum[r][1] = L::zero();
    const float* q = a.queries + first * a.query_stride + query;
    const float* k = a.keys + first * kKeyBlock + key;
    for (int64_t i = first; i < a.k; i += 8) {
        const F keys[2] = {L::load(k), L::load(k + L::kLanes)};
#pragma GCC unroll 16
        for (int r = 0; r < Rows; ++r) {
            const F x = L::set(q[r]);
            sum[r][0] = L::fma(x, keys[0], sum[r][0]);
            sum[r][1] = L::fma(x, keys[1], sum[r][1]);
        }
        q += 8 * a.query_stride;
        k += 8 * kKeyBlock;
    }
    for (int n = 0; n < n_others; ++n) {
#pragma GCC unroll 16
        for (int r = 0; r < Rows; ++r) {
            sum[r][0] = L::add(sum[r][0], L::load(others[n]->values[r]));
            sum[r][1] = L::add(sum[r][1], L::load(others[n]->values[r] + L::kLanes));
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
        L::store(out + r * out_stride, sum[r][0]);
        L::store(out + r * out_stride + L::kLanes, sum[r][1]);
    }
}

// matmul_f32 gives every product eight partial sums, over features that are equal modulo 8, and adds them up
// as O::hsum does: ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7)). Here the lanes are keys, so the partial sums
// are made one after the other and wait in memory.
template <class L, int Rows>
void score_tile(const ScoresArgs& a, int64_t query, int64_t key) {
    using Sums = ScoreSums<L, Rows>;
    Sums even, odd, next;
    const auto make = [&](int64_t first, auto... others) {
        const Sums* const list[] = {others..., nullptr};
        return [&a, query, key, first, list](float* out, int64_t stride) {
            partial_scores<L, Rows>(a, query, key, first, list, sizeof...(others), out, stride);
        };
    };
    const auto keep = [](Sums& sums, const auto& made) { made(&sums.values[0][0], 2 * L::kLanes); };
    keep(even, make(0));
    keep(even, make(4, &even));
    keep(next, make(2));
    keep(even, make(6, &next, &even));
    keep(odd, make(1));
    keep(odd, make(5, &odd));
    keep(next, make(3));
    make(7, &next, &odd, &even)(a.out + query * kKeyChunk + key, kKeyChunk);
}

template <class O>
void attention_scores(const ScoresArgs& a) {
    using L = typename O::Lanes;
    for (int64_t key = 0; key < kKeyBlock; key += 2 * L::kLanes) {
        for_tiles<L::kLaneRows>(a.rows, [&]<int Rows>(int64_t query) { score_tile<L, Rows>(a, query, key); });
    }
}

// Largest of the places [begin, end), whole vectors.
template <class L>
typename L::F largest(const float* x, int64_t begin, int64_t end) {
    typename L::F most = L::set(-__builtin_inff());  // never NaN, as L::max gives its second operand for one
    for (int64_t i = begin; i < end; i += L::kLanes) most = L::max(L::load(x + i), most);
    return most;
}

// Places beside the range, up to whole vectors, count as minus infinity.
template <class O>
float attention_weights(float* scores, int64_t begin, int64_t end, float* sum) {
    using L = typename O::Lanes;
    using F = typename L::F;
    for (; begin % L::kLanes != 0; --begin) scores[begin - 1] = -__builtin_inff();
    for (; end % L::kLanes != 0; ++end) scores[end] = -__builtin_inff();
    const float maximum = L::hmax(largest<L>(scores, begin, end));
    const F base = L::set(maximum == -__builtin_inff() ? 0.0f : maximum);
    F sums[2] = {L::zero(), L::zero()};
    int64_t i = begin;
    const auto add = [&](int part) {
        const F e = exp<L>(L::sub(L::load(scores + i), base));
        L::store(scores + i, e);
        sums[part] = L::add(sums[part], e);
        i += L::kLanes;
    };
    while (i + 2 * L::kLanes <= end) {
        add(0);
        add(1);
    }
    if (i < end) add(0);
    *sum = L::hsum(L::add(sums[0], sums[1]));
    return maximum;
}

// Rows queries times 2 * kLanes columns: the output stays in registers while the values pass by, in order.
template <class L, int Rows>
void weigh_tile(const WeighArgs& a, int64_t query, int64_t column, int64_t begin, int64_t end) {
    using F = typename L::F;
    F sum[Rows][2];
    float* out = a.out + query * a.out_stride + column;
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
        sum[r][0] = L::load(out + r * a.out_stride);
        sum[r][1] = L::load(out + r * a.out_stride + L::kLanes);
    }
    const float* weights = a.weights + query * kKeyChunk;
    const float* v = a.values + column / 32 * (kValueBlock * 32) + column % 32;
    for (int64_t i = begin; i < end; ++i) {
        const F values[2] = {L::load(v + 32 * i), L::load(v + 32 * i + L::kLanes)};
#pragma GCC unroll 16
        for (int r = 0; r < Rows; ++r) {
            const F w = L::set(weights[r * kKeyChunk + i]);
            sum[r][0] = L::fma(w, values[0], sum[r][0]);
            sum[r][1] = L::fma(w, values[1], sum[r][1]);
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
        L::store(out + r * a.out_stride, sum[r][0]);
        L::store(out + r * a.out_stride + L::kLanes, sum[r][1]);
    }
}

// What all queries of a tile read they read together, and what only some read each alone.
template <class L, int Rows>
void weigh_ranges(const WeighArgs& a, int64_t query, int64_t column) {
    const RowRange* range = a.ranges + query;
    int64_t begin = range[0].begin, end = range[0].end;
    for (int r = 1; r < Rows; ++r) {
        begin = range[r].begin > begin ? range[r].begin : begin;
        end = range[r].end < end ? range[r].end : end;
    }
    if (begin >= end) {
        for (int r = 0; r < Rows; ++r)
            if (range[r].begin < range[r].end)
                weigh_tile<L, 1>(a, query + r, column, range[r].begin, range[r].end);
        return;
    }
    for (int r = 0; r < Rows; ++r)
        if (range[r].begin < begin) weigh_tile<L, 1>(a, query + r, column, range[r].begin, begin);
    weigh_tile<L, Rows>(a, query, column, begin, end);
    for (int r = 0; r < Rows; ++r)
        if (end < range[r].end) weigh_tile<L, 1>(a, query + r, column, end, range[r].end);
}

template <class O>
void attention_weigh(const WeighArgs& a) {
    using L = typename O::Lanes;
    for (int64_t column = 0; column < a.width; column += 2 * L::kLanes)
        for_tiles<L::kLaneRows>(a.rows,
                                [&]<int Rows>(int64_t query) { weigh_ranges<L, Rows>(a, query, column); });
}

}  // namespace
}  // namespace plait::backends::cpu::simd
