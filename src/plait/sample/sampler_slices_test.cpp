// Tokens chosen from what slices of a row answer, against those chosen from the row, and against the exact
// distribution. Every combination of filters; PLAIT_LARGE asks for 10 000 draws of each.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "plait/choice/slice.h"
#include "plait/sample/sampler.h"

namespace plait::sample {
namespace {

constexpr int32_t kVocabulary = 240;
constexpr float kMasked = -std::numeric_limits<float>::infinity();

bool large() { return std::getenv("PLAIT_LARGE") != nullptr; }

struct Combination {
    Params params;
    std::string name;
};

// Falls slowly, so that filters have something to do; with equal logits and masked ones.
std::vector<float> test_logits() {
    std::vector<float> logits(kVocabulary);
    for (int32_t id = 0; id < kVocabulary; ++id) {
        logits[static_cast<size_t>(id)] = 3.0f - 0.025f * static_cast<float>(id * 67 % kVocabulary / 2);
        if (id % 29 == 3) logits[static_cast<size_t>(id)] = kMasked;
    }
    return logits;
}

std::vector<Combination> combinations() {
    std::vector<Combination> all;
    for (const double temperature : {0.0, 0.7, 1.5}) {
        for (const int32_t top_k : {0, 5, 40}) {
            for (const double top_p : {1.0, 0.8}) {
                for (const double min_p : {0.0, 0.4}) {
                    for (const bool penalties : {false, true}) {
                        for (const bool biases : {false, true}) {
                            Params params{.top_k = top_k,
                                          .top_p = top_p,
                                          .min_p = min_p,
                                          .temperature = temperature,
                                          .seed = 5};
                            if (penalties) {
                                params.repeat_penalty = 1.3;
                                params.presence_penalty = 0.1;
                                params.frequency_penalty = 0.05;
                            }
                            if (biases) params.biases = {{200, 2.5f}, {7, kMasked}, {60, 1}, {119, -0.5f}};
                            std::string name = "temperature " + std::to_string(temperature) + ", top_k " +
                                               std::to_string(top_k) + ", top_p " + std::to_string(top_p) +
                                               ", min_p " + std::to_string(min_p);
                            if (penalties) name += ", penalties";
                            if (biases) name += ", biases";
                            all.push_back({std::move(params), std::move(name)});
                        }
                    }
                }
            }
        }
    }
    return all;
}

Sampler sampler_for(const Params& params) {
    Sampler sampler(params, kVocabulary, 3);
    for (const int32_t token : {60, 61, 61, 8, 200, 8, 8, 144}) sampler.accept(token);
    return sampler;
}

// N members with a slice each, of unequal sizes, and what their host does.
class Members {
  public:
    Members(int count, int32_t candidates)
        : candidates_(candidates), joined_(static_cast<size_t>(choice::slice_bytes(count * candidates))) {
        for (int m = 0; m <= count; ++m)
            borders_.push_back(m == count ? kVocabulary : kVocabulary * m * m / (count * count));
        answers_.resize(static_cast<size_t>(count),
                        std::vector<std::byte>(static_cast<size_t>(choice::slice_bytes(candidates))));
    }

    int32_t choose(Sampler& sampler, const std::vector<float>& logits, int64_t position) {
        const choice::Ask ask = sampler.ask(position, candidates_);
        std::vector<choice::Slice> slices;
        std::array<choice::Candidate, 1024> room;
        for (size_t m = 0; m < answers_.size(); ++m) {
            const auto begin = static_cast<size_t>(borders_[m]), end = static_cast<size_t>(borders_[m + 1]);
            slices.emplace_back(answers_[m].data(), candidates_);
            choice::answer(ask, sampler.changes(), std::span(logits).subspan(begin, end - begin), borders_[m],
                           room, slices.back());
        }
        const choice::Slice joined(joined_.data(), static_cast<int64_t>(answers_.size()) * candidates_);
        choice::join(slices, static_cast<int64_t>(answers_.size()) * candidates_, joined);
        if (const auto token = sampler.choose(joined, position)) return *token;
        ++gathers_;
        return sampler.sample(logits, position);
    }

    int64_t gathers() const { return gathers_; }

  private:
    const int32_t candidates_;
    std::vector<int32_t> borders_;
    std::vector<std::vector<std::byte>> answers_;
    std::vector<std::byte> joined_;
    int64_t gathers_ = 0;
};

constexpr int kMemberCounts[] = {1, 2, 3, 5};

TEST(Slices, GiveTheTokensOfTheRow) {
    const int64_t draws = large() ? 10000 : 100;
    const auto logits = test_logits();
    int64_t gathered = 0, answered = 0;
    for (const Combination& combination : combinations()) {
        SCOPED_TRACE(combination.name);
        Sampler sampler = sampler_for(combination.params);
        for (const int32_t candidates : {8, 256}) {
            std::vector<Members> members;
            std::vector<Sampler> samplers(std::size(kMemberCounts), sampler);
            for (const int count : kMemberCounts) members.emplace_back(count, candidates);
            for (int64_t position = 0; position < draws; ++position) {
                const int32_t expected = sampler.sample(logits, position);
                for (size_t i = 0; i < members.size(); ++i)
                    ASSERT_EQ(members[i].choose(samplers[i], logits, position), expected) << position;
            }
            for (const Members& some : members) {
                EXPECT_TRUE(candidates == 8 || some.gathers() == 0);
                gathered += some.gathers();
                answered += draws - some.gathers();
            }
        }
    }
    EXPECT_GT(gathered, 0);
    EXPECT_GT(answered, 3 * gathered);
}

int64_t gathers_of(const Params& params, int count, int32_t candidates) {
    Sampler sampler = sampler_for(params);
    Members members(count, candidates);
    members.choose(sampler, test_logits(), 1);
    return members.gathers();
}

TEST(Slices, AreEnoughWhereverWhatIsKeptIsListed) {
    for (const int count : kMemberCounts) {
        EXPECT_EQ(gathers_of({.temperature = 0}, count, 1), 0);
        EXPECT_EQ(gathers_of({.top_k = 0, .top_p = 1, .min_p = 0}, count, 1), 0) << "a draw from all";
        EXPECT_EQ(gathers_of({.top_k = 8, .top_p = 0.9, .min_p = 0.1}, count, 8), 0);
        EXPECT_EQ(gathers_of({.top_k = 0, .top_p = 0.05, .min_p = 0}, count, 8), 0);
        EXPECT_EQ(gathers_of({.top_k = 0, .top_p = 0.9, .min_p = 0}, count, 8), 1);
        EXPECT_EQ(gathers_of({.top_k = 0, .top_p = 1, .min_p = 0.95}, count, 8), 0);
        EXPECT_EQ(gathers_of({.top_k = 0, .top_p = 1, .min_p = 0.3}, count, 8), 1);
        EXPECT_EQ(gathers_of({.top_k = 100, .top_p = 1, .min_p = 0}, count, 8), 1);
        EXPECT_EQ(gathers_of({.top_k = 100, .top_p = 1, .min_p = 0.95}, count, 8), 0);
        EXPECT_EQ(gathers_of({.top_k = 100, .top_p = 0.05, .min_p = 0}, count, 8), 1)
            << "top-p of 100 unknown ones";
    }
}

// Asking costs time; a filter that has kept too much will again.
TEST(Slices, AreAskedLessOftenWhileTheirAnswersAreOfNoUse) {
    Sampler sampler = sampler_for({.top_k = 0, .top_p = 0.9, .min_p = 0});
    const auto logits = test_logits();
    std::vector<float> peaked = logits;
    peaked[5] = 30;
    Members members(3, 8);
    std::vector<bool> asked;
    for (int64_t position = 0; position < 60; ++position) {
        asked.push_back(sampler.ask(position, 8).anything());
        members.choose(sampler, position < 40 ? logits : peaked, position);
    }
    EXPECT_TRUE(asked[0] && asked[1] && !asked[2] && asked[3]);
    EXPECT_LE(std::count(asked.begin(), asked.begin() + 40, true), 11);
    EXPECT_EQ(std::count(asked.end() - 11, asked.end(), true), 11) << "as soon as an answer was of use";
}

// Half of the probability lies exactly at a border of equal logits: the last bit decides.
TEST(Slices, CutEqualLogitsWhereTheRowDoes) {
    for (const int32_t masked : {0, 40, 112, 176}) {
        std::vector<float> logits(kVocabulary, 1.25f);
        std::fill_n(logits.begin(), masked, kMasked);
        for (const double top_p : {0.25, 0.5, 0.75}) {
            const Params params{.top_k = 0, .top_p = top_p, .min_p = 0, .temperature = 1, .seed = 9};
            Sampler sampler(params, kVocabulary, 0);
            for (const int count : kMemberCounts) {
                Members members(count, 256);
                for (int64_t position = 0; position < 200; ++position)
                    ASSERT_EQ(members.choose(sampler, logits, position), sampler.sample(logits, position));
                EXPECT_EQ(members.gathers(), 0);
            }
        }
    }
}

TEST(Slices, WhatIsToBeRefusedIsLeftToTheRow) {
    std::vector<float> broken = test_logits(), none(kVocabulary, kMasked);
    broken[100] = std::numeric_limits<float>::quiet_NaN();
    for (const Params& params :
         {Params{.temperature = 0}, Params{}, Params{.top_k = 0, .top_p = 1, .min_p = 0}}) {
        for (const auto& logits : {broken, none}) {
            Sampler sampler(params, kVocabulary, 0);
            Members members(3, 8);
            EXPECT_ANY_THROW(members.choose(sampler, logits, 1));
            EXPECT_EQ(members.gathers(), 1);
        }
    }
}

// --- the distribution, computed in the plainest way

// By token, what the pipeline makes of the logits.
std::vector<double> probabilities(const Params& params, std::vector<float> logits) {
    Penalties penalties(params, kVocabulary);
    for (const int32_t token : {60, 61, 61, 8, 200, 8, 8, 144}) penalties.accept(token);
    const auto changed = penalties.apply(logits);
    std::vector<size_t> order;
    for (size_t id = 0; id < changed.size(); ++id)
        if (changed[id] != kMasked) order.push_back(id);
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return changed[a] > changed[b]; });
    if (params.top_k > 0) order.resize(std::min(order.size(), static_cast<size_t>(params.top_k)));
    double whole = 0, sum = 0;
    for (const size_t id : order) whole += std::exp(changed[id]);
    size_t kept = 0;
    while (kept < order.size() && sum < params.top_p * whole) sum += std::exp(changed[order[kept++]]);
    if (params.top_p < 1) order.resize(kept);
    std::erase_if(order, [&, best = changed[order[0]]](size_t id) {
        return params.min_p > 0 && std::exp(changed[id] - best) < params.min_p;
    });
    std::vector<double> p(kVocabulary);
    double total = 0;
    for (const size_t id : order) total += p[id] = std::exp(changed[id] / params.temperature);
    for (double& value : p) value /= total;
    return p;
}

// A standard normal deviate of Pearson's statistic (Wilson and Hilferty 1931); tokens expected less than five
// times count as one.
double chi_squared_deviate(const std::vector<int>& seen, const std::vector<double>& p, int64_t draws) {
    double statistic = 0, rare_p = 0;
    int rare_seen = 0, freedom = -1;
    const auto add = [&](double expected, int found) {
        if (expected == 0 && found == 0) return;
        statistic += (found - expected) * (found - expected) / expected;
        ++freedom;
    };
    for (size_t id = 0; id < p.size(); ++id) {
        if (p[id] * static_cast<double>(draws) >= 5) {
            add(p[id] * static_cast<double>(draws), seen[id]);
        } else if (p[id] > 0) {
            rare_p += p[id];
            rare_seen += seen[id];
        } else {
            add(0, seen[id]);
        }
    }
    add(rare_p * static_cast<double>(draws), rare_seen);
    if (freedom <= 0) return statistic == 0 ? 0 : statistic;
    const double spread = 2.0 / (9.0 * freedom);
    return (std::cbrt(statistic / freedom) - (1 - spread)) / std::sqrt(spread);
}

constexpr double kOneInTenThousand = 3.719;  // of a standard normal deviate
constexpr int64_t kDraws = 10000;

std::vector<int> counts(const Params& params, const std::vector<float>& logits) {
    Sampler sampler = sampler_for(params);
    Members members(3, 8);
    std::vector<int> seen(kVocabulary);
    for (int64_t position = 0; position < kDraws; ++position)
        ++seen[static_cast<size_t>(members.choose(sampler, logits, position))];
    return seen;
}

TEST(Slices, DrawFromTheExactDistribution) {
    const auto logits = test_logits();
    int number = 0;
    for (const Combination& combination : combinations()) {
        if (combination.params.greedy() || (!large() && ++number % 6 != 0)) continue;
        EXPECT_LT(chi_squared_deviate(counts(combination.params, logits),
                                      probabilities(combination.params, logits), kDraws),
                  kOneInTenThousand)
            << combination.name;
    }
}

TEST(Slices, TheTestOfTheDistributionNoticesAWrongOne) {
    const auto logits = test_logits();
    const Params params{.top_k = 40, .top_p = 0.8, .min_p = 0, .temperature = 0.7, .seed = 5};
    const auto seen = counts(params, logits);
    for (Params wrong : {Params{.top_k = 40, .top_p = 0.8, .min_p = 0, .temperature = 5},
                         Params{.top_k = 41, .top_p = 0.9, .min_p = 0, .temperature = 0.7},
                         Params{.top_k = 40, .top_p = 0.7, .min_p = 0, .temperature = 0.7}})
        EXPECT_GT(chi_squared_deviate(seen, probabilities(wrong, logits), kDraws), 5);
}

}  // namespace
}  // namespace plait::sample
