#include "plait/choice/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "plait/base/ensure.h"
#include "plait/base/error.h"
#include "plait/choice/portable_math.h"

namespace plait::choice {
namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();
constexpr size_t kFirstSortedRun = 64;  // most top-p cuts fall within it
constexpr size_t kSortedRunGrowth = 4;

constexpr auto kBetter = [](const Candidate& a, const Candidate& b) { return better(a, b); };

void require_finite(float logit, int64_t id) {
    if (std::isfinite(logit)) return;
    throw Error(
        fmt::format("the logit of token {} is {}, expected a finite number or -inf: the model's weights "
                    "or its computation are broken",
                    id, logit));
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

// One pass with a rising threshold: the k-th best so far. After the first few hundred logits nearly all fall
// below it and cost one comparison, which is written so that NaN does not pass unseen. Ids rise, so an equal
// logit later on loses its tie and may be dropped too.
std::span<Candidate> top_candidates(std::span<const float> logits, int32_t first_id, int64_t k,
                                    std::span<Candidate> room) {
    ENSURE(k >= 1, "top_candidates");
    const size_t limit = std::min(static_cast<size_t>(k), logits.size());
    ENSURE(room.size() > limit || room.size() >= logits.size(), "room of top_candidates");
    float threshold = kMasked;
    size_t kept = 0;
    for (size_t i = 0; i < logits.size(); ++i) {
        const float logit = logits[i];
        if (logit <= threshold) [[likely]]
            continue;
        const int32_t id = first_id + static_cast<int32_t>(i);
        require_finite(logit, id);
        if (kept == room.size()) {
            select(room, limit);
            kept = limit;
            threshold = room[limit - 1].logit;
            if (logit <= threshold) continue;
        }
        room[kept++] = {id, logit};
    }
    const auto found = room.first(kept);
    if (limit == logits.size()) return found;
    if (kept > limit) select(found, limit);
    const auto best = found.first(std::min(kept, limit));
    std::sort(best.begin(), best.end(), kBetter);
    return best;
}

Candidate best_candidate(std::span<const float> logits, int32_t first_id) {
    Candidate best{-1, kMasked};
    for (size_t i = 0; i < logits.size(); ++i) {
        if (logits[i] <= best.logit) [[likely]]
            continue;
        const int32_t id = first_id + static_cast<int32_t>(i);
        require_finite(logits[i], id);
        best = {id, logits[i]};
    }
    return best;
}

double log_sum_exp(std::span<const Candidate> candidates) {
    ENSURE(!candidates.empty(), "log_sum_exp of nothing");
    double highest = candidates[0].logit;
    for (const Candidate& candidate : candidates) highest = std::max<double>(highest, candidate.logit);
    double sum = 0;
    for (const Candidate& candidate : candidates) sum += portable_exp(candidate.logit - highest);
    return highest + portable_log(sum);
}

std::span<Candidate> keep_top_p(std::span<Candidate> candidates, double top_p, double log_sum_exp) {
    double sum = 0;
    size_t sorted = 0;
    for (size_t i = 0; i < candidates.size(); ++i) {
        if (i == sorted) sorted = sort_more(candidates, sorted);
        sum += portable_exp(candidates[i].logit - log_sum_exp);
        if (sum >= top_p) return candidates.first(i + 1);
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

Perturbed draw(std::span<const Candidate> candidates, double temperature, const DrawKey& key) {
    ENSURE(!candidates.empty(), "a draw from nothing");
    Perturbed best{-1, -std::numeric_limits<double>::infinity()};
    for (const auto& [id, logit] : candidates) {
        const uint64_t bits = noise_bits(key, id);
        if (logit + temperature * gumbel_bound(bits) < best.value) continue;
        const Perturbed next{id, logit + temperature * gumbel(bits)};
        if (better(next, best)) best = next;
    }
    return best;
}

}  // namespace plait::choice
