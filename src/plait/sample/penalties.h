#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/sample/params.h"

namespace plait::sample {

// What is to become of which logits: the biases, and the penalties for the tokens among the last
// `repeat_last_n` accepted ones. Allocates at construction only. One thread at a time.
class Penalties {
  public:
    // `params` are valid; accepted tokens lie in [0, vocab_size). Throws Error for a bias of another token,
    // or two of one.
    Penalties(const Params& params, int32_t vocab_size);

    void accept(int32_t token);

    // Sorted by id, each id once; of every token that has a bias or, when penalties are on, was seen.
    std::span<const choice::Change> changes() const { return changes_; }
    // `logits` itself when nothing is to be changed, otherwise a changed copy that lives until the next call.
    std::span<const float> apply(std::span<const float> logits);

  private:
    void set_biases(const std::vector<LogitBias>& biases);
    std::vector<choice::Change>::iterator find(int32_t token);
    void count(int32_t token);
    void forget_oldest();

    const choice::Penalty penalty_;
    const int32_t vocab_size_;
    bool counts_ = false;          // penalties are on
    std::vector<int32_t> window_;  // ring; empty when every token is remembered or none is
    size_t next_ = 0;              // where the ring takes its next token
    size_t held_ = 0;
    std::vector<choice::Change> changes_;
    std::vector<float> changed_;  // empty until something is to be changed
};

}  // namespace plait::sample
