#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/choice/candidates.h"
#include "plait/sample/params.h"
#include "plait/sample/penalties.h"

namespace plait::sample {

// Chooses the tokens of one text. The order is llama.cpp's: penalties, then (greedy: the best) top-k, top-p,
// min-p on the probabilities before temperature, then a draw among the survivors at the temperature. A draw
// depends on the parameters, the logits, `sequence` and the position, and on nothing else: not on earlier
// draws, batch, threads or machine (gumbel.h). Allocates at construction only. One thread at a time; samplers
// are independent of each other.
class Sampler {
  public:
    // Throws Error if `params` are not valid. vocab_size >= 1. `sequence`: see DrawKey.
    Sampler(const Params& params, int32_t vocab_size, uint32_t sequence);

    // The token at `position`, given its `vocab_size` logits; it is not accepted yet. -infinity masks a
    // token. Throws Error when a logit is NaN or +infinity or all are masked.
    int32_t sample(std::span<const float> logits, int64_t position);

    // Adds a token to the history that penalties look at: every token of the prompt, then every one sampled.
    void accept(int32_t token) { penalties_.accept(token); }

    const Params& params() const { return params_; }

  private:
    std::span<const choice::Candidate> survivors(std::span<const float> logits);

    Params params_;
    int32_t vocab_size_;
    uint32_t sequence_;
    int64_t limit_;  // candidates the top-k filter keeps, at most the vocabulary
    Penalties penalties_;
    std::vector<choice::Candidate> room_;  // for top_candidates; empty when greedy
};

}  // namespace plait::sample
