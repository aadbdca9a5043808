#pragma once

#include <array>
#include <cstdint>
#include <limits>

namespace plait::choice {

// A sum of exp(logit), kept so that it is the same to the last bit whatever the order of the logits and
// however they were cut into sums that were added up: as whole numbers, one for each power of two. What lies
// 64 powers below the largest term is left out. It stands for the log-sum-exp of a softmax, of which the
// logarithm is never needed. A plain value without pointers, which travels between devices as bytes.
class ExpSum {
  public:
    void add(float logit);  // finite
    void add(const ExpSum& other);

    // The sum, and a term of it, in one unit: their quotient is the logit's probability.
    double total() const;
    double term(float logit) const;

    bool operator==(const ExpSum&) const = default;

  private:
    static constexpr int kPowers = 64;

    // How many powers of two `exponent` lies below the highest one, or kPowers for what is left out; raises
    // the highest one to it if need be.
    int place(double exponent);

    double highest_ = -std::numeric_limits<double>::infinity();  // a power of two; infinite: nothing is added
    std::array<uint64_t, kPowers> parts_{};  // of highest_, highest_ - 1, ...; has room for 2^22 terms
};

}  // namespace plait::choice
