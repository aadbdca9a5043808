#pragma once

#include <cstdint>

namespace plait::choice {

// Logarithm and exponential made of IEEE 754 double additions, multiplications, divisions and bit moves only,
// so that a token drawn from the same logits is the same on every machine; the C library's own may differ in
// the last bit from one version to the next. The guarantee needs a build without contraction and fast-math
// (cmake/rooms.cmake sees to it). Errors stay within a few units in the last place. Thread-safe.

// x: positive, finite, normal.
double portable_log(double x);

// x: at most 0, not NaN (-infinity included). Below -700 the result is 0: nothing a probability would notice.
double portable_exp(double x);

// exp(x) = mantissa · 2^exponent, the mantissa within [0.7, 1.42]. |x| <= 2^40; past 2^20 the mantissa loses
// digits. The same x gives the same parts.
struct Scaled {
    double mantissa = 1;
    int64_t exponent = 0;
};
Scaled portable_scaled_exp(double x);

}  // namespace plait::choice
