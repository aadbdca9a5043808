#include "plait/choice/portable_math.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace plait::choice {
namespace {

constexpr int kMantissaBits = 52;
constexpr int64_t kExponentBias = 1023;

// ln 2 in two parts; the upper one ends in zeros, so that its product with an exponent is exact.
constexpr double kLn2High = 0x1.62e42feep-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kLog2E = 0x1.71547652b82fep+0;
constexpr double kLargestRest = 0.35;  // a little more than ln 2 / 2
constexpr double kSqrtHalf = 0x1.6a09e667f3bcdp-1;

// 2 atanh(s) / s - 2 = sum of 2 z^n / (2n + 1), n from 1, in z = s². |s| <= 0.1716, so what lies past the
// table is below 1e-18.
constexpr int kAtanhTerms = 12;
constexpr auto kAtanh = [] {
    std::array<double, kAtanhTerms + 1> terms{};
    for (int n = 1; n <= kAtanhTerms; ++n) terms[n] = 2.0 / (2 * n + 1);
    return terms;
}();

// e^r = sum of r^n / n!. |r| <= ln 2 / 2, so what lies past the table is below 1e-17.
constexpr int kExpTerms = 13;
constexpr auto kExp = [] {
    std::array<double, kExpTerms + 1> terms{1};
    for (int n = 1; n <= kExpTerms; ++n) terms[n] = terms[n - 1] / n;
    return terms;
}();

template <size_t kTerms>
double polynomial(const std::array<double, kTerms>& terms, double x) {
    double sum = terms[kTerms - 1];
    for (size_t n = kTerms - 1; n-- > 0;) sum = sum * x + terms[n];
    return sum;
}

}  // namespace

// x = 2^exponent · m with m in [sqrt(1/2), sqrt(2)), and log m = 2 atanh((m-1)/(m+1)). Near x = 1 the
// exponent is 0 and m - 1 is exact, so the result keeps its relative precision there.
double portable_log(double x) {
    const auto bits = std::bit_cast<int64_t>(x);
    const int64_t exponent = (bits - std::bit_cast<int64_t>(kSqrtHalf)) >> kMantissaBits;
    const auto m = std::bit_cast<double>(bits - exponent * (int64_t{1} << kMantissaBits));
    const double f = m - 1;
    const double s = f / (2 + f);
    const double log_m = 2 * s + s * polynomial(kAtanh, s * s);
    const auto e = static_cast<double>(exponent);
    return e * kLn2High + (e * kLn2Low + log_m);
}

// x = k ln 2 + r with |r| <= ln 2 / 2.
Scaled portable_scaled_exp(double x) {
    const auto k = static_cast<int64_t>(x * kLog2E + (x < 0 ? -0.5 : 0.5));
    const auto kd = static_cast<double>(k);
    const double r = (x - kd * kLn2High) - kd * kLn2Low;
    return {polynomial(kExp, std::clamp(r, -kLargestRest, kLargestRest)), k};
}

double portable_exp(double x) {
    if (x < -700) return 0;
    const Scaled scaled = portable_scaled_exp(x);
    return scaled.mantissa * std::bit_cast<double>((kExponentBias + scaled.exponent) << kMantissaBits);
}

}  // namespace plait::choice
