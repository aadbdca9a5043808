#pragma once

#include <cstdint>
#include <span>

#include "plait/choice/exp_sum.h"
#include "plait/choice/gumbel.h"

// The sampling pipeline as pure functions on candidates. They do not know whether the logits are a whole
// vocabulary or one slice of it: ids are global, what depends on the whole (a softmax's normaliser) is an
// argument, and partial results (the best perturbed one) merge by comparison. No function allocates; all are
// thread-safe; no result depends on the order of the candidates it is given.
namespace plait::choice {

struct Candidate {
    int32_t id;
    float logit;  // finite
    bool operator==(const Candidate&) const = default;
};

// The one order of candidates: higher logit first, lower id first among equals.
inline bool better(const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

// The `k` best of `logits`, whose first has id `first_id`, gathered at the front of `room`: best first when
// the logits are more than k, in the order of their ids otherwise. -infinity marks a masked token, which is
// left out, so the result may be empty. k >= 1; `room` must hold k + 1 candidates, or all of them
// (Selection::room_for says how many are best). Throws Error on NaN and +infinity.
std::span<Candidate> top_candidates(std::span<const float> logits, int32_t first_id, int64_t k,
                                    std::span<Candidate> room);

// The best of `logits` with the same rules; id -1 and logit -infinity when all are masked.
Candidate best_candidate(std::span<const float> logits, int32_t first_id);

// The normaliser of a softmax over them.
ExpSum exp_sum(std::span<const Candidate> candidates);

// Reorders and returns the shortest run of best candidates whose probabilities, of which `whole` is the
// normaliser, sum to at least top_p: at least one; all of them when they never do.
std::span<Candidate> keep_top_p(std::span<Candidate> candidates, double top_p, const ExpSum& whole);

// Reorders and returns those at least min_p times as probable as the best; 0 < min_p <= 1. Not empty if the
// input is not.
std::span<Candidate> keep_min_p(std::span<Candidate> candidates, double min_p);

// A candidate with its noise: logit + temperature · g(key, id). Dividing this by the temperature gives the
// usual logit/T + g; multiplying instead cannot overflow however small T is.
struct Perturbed {
    int32_t id;
    double value;
};

inline bool better(const Perturbed& a, const Perturbed& b) {
    return a.value != b.value ? a.value > b.value : a.id < b.id;
}

// Replaces `best` if the candidate, perturbed, is better; temperature > 0. To begin with: {-1, -infinity}.
void perturb(const Candidate& candidate, double temperature, const DrawKey& key, Perturbed& best);

// The best perturbed candidate: a draw from softmax(logit / temperature). `candidates` is not empty;
// temperature > 0.
Perturbed draw(std::span<const Candidate> candidates, double temperature, const DrawKey& key);

}  // namespace plait::choice
