#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/sample/params.h"

namespace plait::sample {

// A logit after the penalties for a token seen `count` times: divided by repeat_penalty when positive,
// multiplied by it otherwise (Keskar et al., "CTRL", 2019, as llama.cpp extends it to negative logits), then
// lowered by count · frequency_penalty + presence_penalty. A token not seen (count 0) keeps its logit.
float penalised(float logit, int32_t count, const Params& params);

// Counts the tokens in the last `repeat_last_n` accepted ones and applies the penalties for them. When no
// penalty is on it holds no memory and does nothing. Allocates at construction only. One thread at a time.
class Penalties {
  public:
    // `params` are valid; token ids lie in [0, vocab_size).
    Penalties(const Params& params, int32_t vocab_size);

    void accept(int32_t token);

    // `logits` itself when nothing is to be changed, otherwise a changed copy that lives until the next call.
    std::span<const float> apply(std::span<const float> logits);

  private:
    void forget_oldest();

    Params params_;
    std::vector<int32_t> window_;  // ring; empty when every token is remembered or none is
    size_t next_ = 0;              // where the ring takes its next token
    size_t held_ = 0;
    std::vector<int32_t> counts_;  // per token id; empty when the penalties are off
    std::vector<float> changed_;
};

}  // namespace plait::sample
