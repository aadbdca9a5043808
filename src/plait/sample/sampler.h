#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plait/choice/candidates.h"
#include "plait/choice/slice.h"
#include "plait/sample/params.h"
#include "plait/sample/penalties.h"

namespace plait::sample {

// Chooses the tokens of one text. The order is llama.cpp's: biases, penalties, then (greedy: the best) top-k,
// top-p, min-p on the probabilities before temperature, then a draw among the survivors at the temperature. A
// draw depends on the parameters, the logits, `sequence` and the position, and on nothing else: not on
// earlier draws, batch, threads or machine (choice/gumbel.h), nor on how it was made: from a row's logits, or
// from what its slices answer. Allocates at construction only. One thread at a time; samplers are independent
// of each other.
class Sampler {
  public:
    // Throws Error if `params` are not valid. vocab_size >= 1. `sequence`: see choice::DrawKey.
    Sampler(const Params& params, int32_t vocab_size, uint32_t sequence);

    // The token at `position`, given its `vocab_size` logits; it is not accepted yet. -infinity masks a
    // token. Throws Error when a logit is NaN or +infinity or all are masked.
    int32_t sample(std::span<const float> logits, int64_t position);

    // The same without logits: what every slice of the row is asked, with at most `most` candidates of each
    // (at least 1), and the changes that go with it. Now and then nothing, when several answers in a row were
    // of no use: asking costs time.
    choice::Ask ask(int64_t position, int32_t most) const;
    std::span<const choice::Change> changes() const { return penalties_.changes(); }
    // And the token, from the slices' joined answer, whose candidates it puts in another order. None: the
    // answer does not tell (filters keep more than it lists, or there is something to refuse), which sample()
    // will.
    std::optional<int32_t> choose(choice::Slice answer, int64_t position);

    // Adds a token to the history that penalties look at: every token of the prompt, then every one sampled.
    void accept(int32_t token) { penalties_.accept(token); }

    const Params& params() const { return params_; }

  private:
    using Candidates = std::span<choice::Candidate>;

    bool has_top_k() const { return limit_ < vocab_size_; }
    bool has_filters() const { return has_top_k() || params_.top_p < 1 || params_.min_p > 0; }
    std::optional<int32_t> chosen(choice::Slice answer, int64_t position) const;
    // What top-p and min-p leave of the best candidates, of which `whole` is the normaliser. Unless they are
    // `all` that top-k left, none when the filters might leave others too.
    std::optional<Candidates> filtered(Candidates candidates, bool all, const choice::ExpSum& whole) const;
    int32_t drawn(std::span<const choice::Candidate> candidates, int64_t position) const;

    Params params_;
    int32_t vocab_size_;
    uint32_t sequence_;
    int64_t limit_;  // candidates the top-k filter keeps, at most the vocabulary
    Penalties penalties_;
    int32_t useless_ = 0;                  // answers in a row that did not tell
    int32_t skipped_ = 0;                  // rows in a row that nothing was asked of
    std::vector<choice::Candidate> room_;  // for top_candidates; empty when greedy
};

}  // namespace plait::sample
