#include "plait/choice/candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "plait/base/error.h"

namespace plait::choice {
namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

using Logits = std::vector<float>;
using Candidates = std::vector<Candidate>;

enum class Shape { Random, Ascending, Descending, FewValues };

Logits make_logits(size_t size, Shape shape, uint32_t seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, 3);
    Logits logits(size);
    for (float& logit : logits)
        logit = shape == Shape::FewValues ? std::floor(normal(random)) : normal(random);
    if (shape == Shape::Ascending) std::sort(logits.begin(), logits.end());
    if (shape == Shape::Descending) std::sort(logits.begin(), logits.end(), std::greater<>());
    return logits;
}

// The whole vocabulary fully sorted: what the partial selections must agree with.
Candidates sorted_candidates(const Logits& logits, int32_t first_id = 0) {
    Candidates all;
    for (size_t i = 0; i < logits.size(); ++i)
        if (logits[i] != kMasked) all.push_back({first_id + static_cast<int32_t>(i), logits[i]});
    std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) { return better(a, b); });
    return all;
}

Candidates copy(std::span<const Candidate> candidates) { return {candidates.begin(), candidates.end()}; }

std::vector<int32_t> sorted_ids(std::span<const Candidate> candidates) {
    std::vector<int32_t> ids;
    for (const Candidate& candidate : candidates) ids.push_back(candidate.id);
    std::sort(ids.begin(), ids.end());
    return ids;
}

TEST(TopCandidates, AgreesWithAFullSort) {
    for (Shape shape : {Shape::Random, Shape::Ascending, Shape::Descending, Shape::FewValues})
        for (size_t size : {2u, 7u, 500u, 3001u})
            for (int64_t k : {1, 3, 40, 499})
                for (size_t spare : {1, 17, 4000}) {
                    if (k >= static_cast<int64_t>(size)) continue;
                    const Logits logits = make_logits(size, shape, 7);
                    Candidates room(k + spare);
                    auto expected = sorted_candidates(logits, 100);
                    expected.resize(k);
                    ASSERT_EQ(copy(top_candidates(logits, 100, k, room)), expected)
                        << size << " logits, k " << k << ", spare " << spare;
                }
}

TEST(TopCandidates, AllOfThemComeInOrderOfIds) {
    const Logits logits = {1, kMasked, 3, 2};
    for (int64_t k : {4, 5, 1000000000}) {
        Candidates room(4);
        EXPECT_EQ(copy(top_candidates(logits, 0, k, room)), (Candidates{{0, 1}, {2, 3}, {3, 2}})) << k;
    }
}

TEST(TopCandidates, MaskedTokensNeverAppear) {
    Candidates room(8);
    EXPECT_TRUE(top_candidates(Logits(5, kMasked), 0, 2, room).empty());
    EXPECT_TRUE(top_candidates(Logits{}, 0, 2, room).empty());
    EXPECT_EQ(copy(top_candidates(Logits{kMasked, -1e30f, kMasked, kMasked}, 0, 3, room)),
              (Candidates{{1, -1e30f}}));
}

TEST(TopCandidates, LowestIdsWinTies) {
    Candidates room(9);
    EXPECT_EQ(sorted_ids(top_candidates(Logits(100, 1.5f), 0, 3, room)), (std::vector<int32_t>{0, 1, 2}));
}

TEST(TopCandidates, NanAndInfinityAreFoundWhereverTheyStand) {
    for (float bad : {kNan, -kNan, std::numeric_limits<float>::infinity()})
        for (size_t at : {0u, 1u, 500u, 1999u}) {
            Logits logits = make_logits(2000, Shape::Descending, 3);
            logits[at] = bad;
            Candidates room(30);
            EXPECT_THROW(top_candidates(logits, 0, 10, room), Error) << bad << " at " << at;
            EXPECT_THROW(best_candidate(logits, 0), Error) << bad << " at " << at;
        }
}

TEST(TopCandidates, ErrorIsASentence) {
    Candidates room(3);
    try {
        top_candidates(Logits{0, kNan}, 40, 2, room);
        FAIL() << "a NaN passed";
    } catch (const Error& error) {
        EXPECT_EQ(
            std::string(error.what()),
            "the logit of token 41 is nan, expected a finite number or -inf: the model's weights or its "
            "computation are broken");
    }
}

TEST(TopCandidatesDeathTest, RoomForNoneMoreThanK) {
    Candidates room(3);
    EXPECT_DEATH(top_candidates(Logits(10, 0.f), 0, 3, room), "room of top_candidates");
    EXPECT_DEATH(top_candidates(Logits(10, 0.f), 0, 0, room), "top_candidates");
}

TEST(BestCandidate, IsTheFirstOfTheSort) {
    for (Shape shape : {Shape::Random, Shape::Ascending, Shape::Descending, Shape::FewValues}) {
        const Logits logits = make_logits(999, shape, 11);
        EXPECT_EQ(best_candidate(logits, 50), sorted_candidates(logits, 50).front());
    }
    EXPECT_EQ(best_candidate(Logits(4, kMasked), 0), (Candidate{-1, kMasked}));
    EXPECT_EQ(best_candidate(Logits{}, 0), (Candidate{-1, kMasked}));
}

// Probabilities 1/2, 1/4, 1/8, 1/8 after normalising.
Candidates halves() {
    const auto ln2 = static_cast<float>(std::log(2.0));
    return {{0, -3 * ln2}, {1, -1 * ln2}, {2, -3 * ln2}, {3, -2 * ln2}};
}

std::vector<int32_t> top_p_of(Candidates candidates, double top_p) {
    return sorted_ids(keep_top_p(candidates, top_p, exp_sum(candidates)));
}

TEST(TopP, KeepsTheShortestRunThatReachesP) {
    EXPECT_EQ(top_p_of(halves(), 0), (std::vector<int32_t>{1}));
    EXPECT_EQ(top_p_of(halves(), 0.49), (std::vector<int32_t>{1}));
    EXPECT_EQ(top_p_of(halves(), 0.51), (std::vector<int32_t>{1, 3}));
    EXPECT_EQ(top_p_of(halves(), 0.76), (std::vector<int32_t>{0, 1, 3}));  // 0 before 2: equal, lower id
    EXPECT_EQ(top_p_of(halves(), 0.99), (std::vector<int32_t>{0, 1, 2, 3}));
}

TEST(TopP, AgreesWithAFullSortWhenTheCutLiesFarIn) {
    const Logits logits = make_logits(5000, Shape::FewValues, 5);
    const Candidates sorted = sorted_candidates(logits);
    double whole = 0;
    for (const Candidate& candidate : sorted) whole += std::exp(candidate.logit);
    const ExpSum normaliser = exp_sum(sorted);
    for (double top_p : {0.1, 0.5, 0.9, 0.99, 0.9999}) {
        double sum = 0;
        size_t count = 0;
        while (sum < top_p) sum += std::exp(sorted[count++].logit) / whole;
        Candidates candidates = sorted;
        std::shuffle(candidates.begin(), candidates.end(), std::mt19937(9));
        EXPECT_EQ(copy(keep_top_p(candidates, top_p, normaliser)), copy(std::span(sorted).first(count)))
            << top_p;
    }
}

TEST(TopP, AForeignNormaliserCountsTheTokensThatAreNotHere) {
    Candidates candidates = halves();
    ExpSum whole = exp_sum(candidates);
    whole.add(ExpSum(whole));  // as much again lies in another slice
    EXPECT_EQ(sorted_ids(keep_top_p(candidates, 0.3, whole)), (std::vector<int32_t>{1, 3}));
}

std::vector<int32_t> min_p_of(Candidates candidates, double min_p) {
    return sorted_ids(keep_min_p(candidates, min_p));
}

TEST(MinP, ComparesWithTheBest) {
    EXPECT_EQ(min_p_of(halves(), 1), (std::vector<int32_t>{1}));
    EXPECT_EQ(min_p_of(halves(), 0.51), (std::vector<int32_t>{1}));
    EXPECT_EQ(min_p_of(halves(), 0.49), (std::vector<int32_t>{1, 3}));
    EXPECT_EQ(min_p_of(halves(), 0.24), (std::vector<int32_t>{0, 1, 2, 3}));
    EXPECT_EQ(min_p_of(halves(), 1e-310), (std::vector<int32_t>{0, 1, 2, 3}));
    EXPECT_TRUE(min_p_of({}, 0.5).empty());
}

TEST(Filters, DoNotDependOnTheOrderOfCandidates) {
    const Candidates sorted = sorted_candidates(make_logits(700, Shape::FewValues, 21));
    const ExpSum normaliser = exp_sum(sorted);
    const DrawKey key{.seed = 5, .position = 6};
    std::mt19937 random(31);
    Candidates reference = sorted;
    const auto expected_p = sorted_ids(keep_top_p(reference, 0.8, normaliser));
    const auto expected_min = sorted_ids(keep_min_p(reference, 0.05));
    const auto expected_draw = draw(sorted, 1.3, key);
    for (int trial = 0; trial < 20; ++trial) {
        Candidates shuffled = sorted;
        std::shuffle(shuffled.begin(), shuffled.end(), random);
        EXPECT_EQ(draw(shuffled, 1.3, key).id, expected_draw.id);
        EXPECT_EQ(draw(shuffled, 1.3, key).value, expected_draw.value);
        EXPECT_EQ(sorted_ids(keep_min_p(shuffled, 0.05)), expected_min);
        EXPECT_EQ(sorted_ids(keep_top_p(shuffled, 0.8, normaliser)), expected_p);
    }
}

TEST(Draw, TheBestOfSlicesIsTheBestOfAll) {
    const Candidates all = sorted_candidates(make_logits(1000, Shape::Random, 41));
    const std::span<const Candidate> view = all;
    for (int64_t position = 0; position < 50; ++position) {
        const DrawKey key{.seed = 1, .position = position};
        const Perturbed left = draw(view.first(333), 0.9, key), right = draw(view.subspan(333), 0.9, key);
        EXPECT_EQ((better(left, right) ? left : right).id, draw(all, 0.9, key).id);
    }
}

TEST(Draw, IsTheArgmaxOfEveryPerturbedLogit) {
    const Candidates all = sorted_candidates(make_logits(300, Shape::FewValues, 43));
    for (int64_t position = 0; position < 300; ++position) {
        const DrawKey key{.seed = 2, .position = position};
        Perturbed best{-1, -1e300};
        for (const Candidate& candidate : all) {
            const Perturbed next{candidate.id, candidate.logit + 0.7 * gumbel(key, candidate.id)};
            if (better(next, best)) best = next;
        }
        ASSERT_EQ(draw(all, 0.7, key).id, best.id);
        ASSERT_EQ(draw(all, 0.7, key).value, best.value);
    }
}

TEST(Draw, TinyAndHugeTemperatures) {
    const Candidates two = {{0, 1}, {1, 1.0001f}};
    int first = 0;
    for (int64_t position = 0; position < 1000; ++position) {
        EXPECT_EQ(draw(two, 1e-300, {.position = position}).id, 1);
        first += draw(two, 1e6, {.position = position}).id == 0;
    }
    EXPECT_NEAR(first, 500, 80);  // 5 standard deviations
}

}  // namespace
}  // namespace plait::choice
