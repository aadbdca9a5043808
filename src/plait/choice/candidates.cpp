#include "plait/choice/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "plait/base/ensure.h"
#include "plait/base/error.h"
#include "plait/choice/portable_math.h"
#include "plait/choice/selection.h"

namespace plait::choice {
namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();
constexpr size_t kFirstSortedRun = 64;  // most top-p cuts fall within it
constexpr size_t kSortedRunGrowth = 4;

constexpr auto kBetter = [](const Candidate& a, const Candidate& b) { return better(a, b); };

// One of the logits is NaN or +infinity.
[[noreturn]] void refuse_infinite(std::span<const float> logits, int32_t first_id) {
    const auto found =
        std::ranges::find_if(logits, [](float logit) { return logit != kMasked && !std::isfinite(logit); });
    throw Error(
        fmt::format("the logit of token {} is {}, expected a finite number or -inf: the model's weights "
                    "or its computation are broken",
                    first_id + (found - logits.begin()), *found));
}

// Moves the `count` best to the front, the worst of them last.
void select(std::span<Candidate> candidates, size_t count) {
    std::nth_element(candidates.begin(), candidates.begin() + (count - 1), candidates.end(), kBetter);
}

// With the first `sorted` already the best in order, puts at least one more (if any) in order; returns how
// many are.
size_t sort_more(std::span<Candidate> candidates, size_t sorted) {
    const size_t target = std::min(candidates.size(), std::max(kFirstSortedRun, sorted * kSortedRunGrowth));
    const auto rest = candidates.subspan(sorted);
    const size_t run = target - sorted;
    if (run < rest.size()) select(rest, run);
    std::sort(rest.begin(), rest.begin() + run, kBetter);
    return target;
}

}  // namespace

std::span<Candidate> top_candidates(std::span<const float> logits, int32_t first_id, int64_t k,
                                    std::span<Candidate> room) {
    ENSURE(k >= 1, "top_candidates");
    const int64_t limit = std::min(k, static_cast<int64_t>(logits.size()));
    ENSURE(static_cast<int64_t>(room.size()) > limit || room.size() >= logits.size(),
           "room of top_candidates");
    if (limit == 0) return {};
    Selection selection(limit, room);
    if (!selection.show(logits, first_id)) refuse_infinite(logits, first_id);
    return selection.by_id_if_all();
}

Candidate best_candidate(std::span<const float> logits, int32_t first_id) {
    Candidate best{-1, kMasked};
    Selection selection(1, {&best, 1});
    if (!selection.show(logits, first_id)) refuse_infinite(logits, first_id);
    return best;
}

ExpSum exp_sum(std::span<const Candidate> candidates) {
    ExpSum sum;
    for (const Candidate& candidate : candidates) sum.add(candidate.logit);
    return sum;
}

std::span<Candidate> keep_top_p(std::span<Candidate> candidates, double top_p, const ExpSum& whole) {
    const double wanted = top_p * whole.total();
    double sum = 0;
    size_t sorted = 0;
    for (size_t i = 0; i < candidates.size(); ++i) {
        if (i == sorted) sorted = sort_more(candidates, sorted);
        sum += whole.term(candidates[i].logit);
        if (sum >= wanted) return candidates.first(i + 1);
    }
    return candidates;
}

std::span<Candidate> keep_min_p(std::span<Candidate> candidates, double min_p) {
    if (candidates.empty()) return candidates;
    const auto best = std::min_element(candidates.begin(), candidates.end(), kBetter);
    const double lowest = best->logit + portable_log(std::max(min_p, std::numeric_limits<double>::min()));
    const auto end =
        std::partition(candidates.begin(), candidates.end(),
                       [lowest](const Candidate& candidate) { return candidate.logit >= lowest; });
    return {candidates.begin(), end};
}

void perturb(const Candidate& candidate, double temperature, const DrawKey& key, Perturbed& best) {
    const uint64_t bits = noise_bits(key, candidate.id);
    if (candidate.logit + temperature * gumbel_bound(bits) < best.value) return;
    const Perturbed next{candidate.id, candidate.logit + temperature * gumbel(bits)};
    if (better(next, best)) best = next;
}

Perturbed draw(std::span<const Candidate> candidates, double temperature, const DrawKey& key) {
    ENSURE(!candidates.empty(), "a draw from nothing");
    Perturbed best{-1, -std::numeric_limits<double>::infinity()};
    for (const Candidate& candidate : candidates) perturb(candidate, temperature, key, best);
    return best;
}

}  // namespace plait::choice
