// Does the sampler draw from the distribution it promises? Pearson's chi-squared test against probabilities
// computed here in the plainest way, over 10 000 draws with fixed seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "plait/sample/sampler.h"

namespace plait::sample {
namespace {

constexpr int kDraws = 10000;
constexpr Params kNoFilter{.top_k = 0, .top_p = 1, .min_p = 0, .temperature = 1};

using Probabilities = std::vector<double>;

// Falls slowly enough that all but the last few tokens are expected more than five times at temperature 0.7.
std::vector<float> test_logits() {
    std::vector<float> logits(12);
    for (int i = 0; i < 12; ++i) logits[i] = 2.0f - 0.35f * static_cast<float>(i * 5 % 12);
    return logits;
}

Probabilities softmax(const std::vector<float>& logits, double temperature) {
    Probabilities p;
    for (float logit : logits) p.push_back(std::exp(logit / temperature));
    const double sum = std::accumulate(p.begin(), p.end(), 0.0);
    for (double& value : p) value /= sum;
    return p;
}

// Restricts `p` to its tokens with keep[i], normalised anew.
Probabilities restricted(Probabilities p, const std::vector<bool>& keep) {
    double sum = 0;
    for (size_t i = 0; i < p.size(); ++i) sum += p[i] = keep[i] ? p[i] : 0;
    for (double& value : p) value /= sum;
    return p;
}

std::vector<int> counts(const Params& params, uint32_t sequence = 0) {
    const auto logits = test_logits();
    Sampler sampler(params, static_cast<int32_t>(logits.size()), sequence);
    std::vector<int> seen(logits.size());
    for (int64_t position = 0; position < kDraws; ++position) ++seen[sampler.sample(logits, position)];
    return seen;
}

// A standard normal deviate of the chi-squared statistic (Wilson and Hilferty 1931). A token that cannot be
// drawn but was makes it infinite.
double chi_squared_deviate(const std::vector<int>& seen, const Probabilities& p) {
    double statistic = 0;
    int freedom = -1;
    for (size_t i = 0; i < p.size(); ++i) {
        if (p[i] == 0 && seen[i] == 0) continue;
        const double expected = p[i] * kDraws;
        statistic += (seen[i] - expected) * (seen[i] - expected) / expected;
        ++freedom;
    }
    if (freedom == 0) return statistic;
    const double spread = 2.0 / (9.0 * freedom);
    return (std::cbrt(statistic / freedom) - (1 - spread)) / std::sqrt(spread);
}

constexpr double kAccepted = 3.0;  // one in 740 right samplers would fail; the seeds are fixed
constexpr double kRejected = 10.0;

std::vector<bool> at_least(const Probabilities& p, double lowest) {
    std::vector<bool> keep;
    for (double value : p) keep.push_back(value >= lowest);
    return keep;
}

TEST(Distribution, Temperatures) {
    for (double temperature : {0.7, 1.0, 1.5})
        for (uint64_t seed : {1, 2, 3}) {
            Params params = kNoFilter;
            params.temperature = temperature;
            params.seed = seed;
            EXPECT_LT(chi_squared_deviate(counts(params), softmax(test_logits(), temperature)), kAccepted)
                << "temperature " << temperature << ", seed " << seed;
        }
}

TEST(Distribution, TheTestNoticesAWrongTemperature) {
    Params params = kNoFilter;
    params.temperature = 0.8;
    EXPECT_GT(chi_squared_deviate(counts(params), softmax(test_logits(), 1.0)), kRejected);
}

TEST(Distribution, TopK) {
    Params params = kNoFilter;
    params.top_k = 5;
    const Probabilities p = softmax(test_logits(), 1);
    Probabilities sorted = p;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    EXPECT_LT(chi_squared_deviate(counts(params), restricted(p, at_least(p, sorted[4]))), kAccepted);
    EXPECT_GT(chi_squared_deviate(counts(params), restricted(p, at_least(p, sorted[5]))), kRejected);
}

TEST(Distribution, TopP) {
    Params params = kNoFilter;
    params.top_p = 0.8;
    const Probabilities p = softmax(test_logits(), 1);
    Probabilities sorted = p;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    double sum = 0;
    size_t count = 0;
    while (sum < 0.8) sum += sorted[count++];
    ASSERT_GT(count, 2u);
    ASSERT_LT(count, 10u);
    EXPECT_LT(chi_squared_deviate(counts(params), restricted(p, at_least(p, sorted[count - 1]))), kAccepted);
}

TEST(Distribution, MinP) {
    Params params = kNoFilter;
    params.min_p = 0.2;
    const Probabilities p = softmax(test_logits(), 1);
    const double lowest = 0.2 * *std::max_element(p.begin(), p.end());
    EXPECT_LT(chi_squared_deviate(counts(params), restricted(p, at_least(p, lowest))), kAccepted);
}

// Filters look at probabilities before the temperature: the survivors at T = 3 are those of T = 1.
TEST(Distribution, FiltersComeBeforeTheTemperature) {
    Params params = kNoFilter;
    params.min_p = 0.2;
    params.temperature = 3;
    const Probabilities plain = softmax(test_logits(), 1), hot = softmax(test_logits(), 3);
    const double lowest = 0.2 * *std::max_element(plain.begin(), plain.end());
    EXPECT_LT(chi_squared_deviate(counts(params), restricted(hot, at_least(plain, lowest))), kAccepted);
}

// top-p works on what top-k left: of probabilities normalised among 4, not among 12.
TEST(Distribution, TopPFollowsTopK) {
    Params params = kNoFilter;
    params.top_k = 4;
    params.top_p = 0.7;
    const Probabilities p = softmax(test_logits(), 1);
    Probabilities sorted = p;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    const double total = sorted[0] + sorted[1] + sorted[2] + sorted[3];
    double sum = 0;
    size_t count = 0;
    while (sum < 0.7 * total) sum += sorted[count++];
    ASSERT_LT(count, 4u);
    EXPECT_LT(chi_squared_deviate(counts(params), restricted(p, at_least(p, sorted[count - 1]))), kAccepted);
}

// Two texts with one seed must not follow each other: how often they agree by position is a binomial count.
TEST(Distribution, SequencesAreIndependent) {
    const auto logits = test_logits();
    const Probabilities p = softmax(logits, 1);
    double agree = 0;
    for (double value : p) agree += value * value;
    Sampler a(kNoFilter, 12, 0), b(kNoFilter, 12, 1);
    int seen = 0;
    for (int64_t position = 0; position < kDraws; ++position)
        seen += a.sample(logits, position) == b.sample(logits, position);
    EXPECT_NEAR(seen, agree * kDraws, 4 * std::sqrt(kDraws * agree * (1 - agree)));
}

}  // namespace
}  // namespace plait::sample
