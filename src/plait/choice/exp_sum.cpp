#include "plait/choice/exp_sum.h"

#include <algorithm>
#include <cmath>

#include "plait/choice/portable_math.h"

namespace plait::choice {
namespace {

constexpr double kUnit = 0x1p40;
// Beyond it neighbouring floats differ by more than all powers that are kept, and by more than a double's
// logarithm of two tells: a term is its logit then.
constexpr double kHuge = 0x1p40;

// 2^exponent · mantissa / kUnit.
struct Term {
    double exponent = 0;
    uint64_t mantissa = 0;
};

Term term_of(float logit) {
    const double x = logit;
    if (std::abs(x) >= kHuge) return {2 * x, static_cast<uint64_t>(kUnit)};
    const Scaled scaled = portable_scaled_exp(x);
    return {static_cast<double>(scaled.exponent),
            static_cast<uint64_t>(static_cast<int64_t>(scaled.mantissa * kUnit))};
}

}  // namespace

int ExpSum::place(double exponent) {
    if (exponent <= highest_) return static_cast<int>(std::min<double>(highest_ - exponent, kPowers));
    const auto shift = static_cast<int>(std::min<double>(exponent - highest_, kPowers));
    std::move_backward(parts_.begin(), parts_.end() - shift, parts_.end());
    std::fill_n(parts_.begin(), shift, 0);
    highest_ = exponent;
    return 0;
}

void ExpSum::add(float logit) {
    const Term term = term_of(logit);
    const double below = highest_ - term.exponent;
    if (below >= kPowers) return;
    const int at = below >= 0 ? static_cast<int>(below) : place(term.exponent);
    parts_[static_cast<size_t>(at)] += term.mantissa;
}

void ExpSum::add(const ExpSum& other) {
    if (other.highest_ == -std::numeric_limits<double>::infinity()) return;
    const int first = place(other.highest_);
    for (int at = first; at < kPowers; ++at)
        parts_[static_cast<size_t>(at)] += other.parts_[static_cast<size_t>(at - first)];
}

// The smallest first; the order is part of the result.
double ExpSum::total() const {
    double sum = 0;
    for (size_t at = kPowers; at-- > 0;) sum = sum * 0.5 + static_cast<double>(parts_[at]);
    return sum;
}

double ExpSum::term(float logit) const {
    const Term term = term_of(logit);
    const double below = highest_ - term.exponent;
    if (below > 1000) return 0;  // nothing that a sum would notice
    return std::ldexp(static_cast<double>(term.mantissa), -static_cast<int>(below));
}

}  // namespace plait::choice
