#pragma once

#include <cstdint>

// Row ends that do not fill a vector, and the splitting of counts into tiles.
namespace plait::backends::cpu::simd {
namespace {

// The first n < 8 floats at p; `fill` in the other lanes.
template <class O>
typename O::F load_partial(const float* p, int64_t n, float fill = 0.0f) {
    float lanes[8] = {fill, fill, fill, fill, fill, fill, fill, fill};
    for (int64_t i = 0; i < n; ++i) lanes[i] = p[i];
    return O::load(lanes);
}

template <class O>
void store_partial(float* p, int64_t n, typename O::F v) {
    float lanes[8];
    O::store(lanes, v);
    for (int64_t i = 0; i < n; ++i) p[i] = lanes[i];
}

// Calls fn.operator()<N>(begin) for a count n known at run time to lie in [1, N].
template <int N, class Fn>
void with_width(int64_t n, int64_t begin, const Fn& fn) {
    if constexpr (N == 1) {
        fn.template operator()<1>(begin);
    } else {
        if (n == N)
            fn.template operator()<N>(begin);
        else
            with_width<N - 1>(n, begin, fn);
    }
}

// Cuts [0, n) into tiles of N and one narrower rest: fn.operator()<width>(begin).
template <int N, class Fn>
void for_tiles(int64_t n, const Fn& fn) {
    int64_t begin = 0;
    for (; begin + N <= n; begin += N) fn.template operator()<N>(begin);
    if (begin < n) with_width<N>(n - begin, begin, fn);
}

}  // namespace
}  // namespace plait::backends::cpu::simd
