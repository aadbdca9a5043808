#include "plait/sample/sampler.h"

#include <fmt/format.h>

#include <algorithm>

#include "plait/base/ensure.h"
#include "plait/base/error.h"

namespace plait::sample {
namespace {

constexpr int64_t kSmallestRoom = 1024;

const Params& validated(const Params& params) {
    validate(params);
    return params;
}

bool is_greedy(const Params& params) { return params.temperature <= 0; }

int64_t room_for(const Params& params, int64_t limit, int64_t vocab_size) {
    if (is_greedy(params)) return 0;
    return std::min(vocab_size, std::max(kSmallestRoom, 4 * limit));
}

void require_any(bool any, int64_t position) {
    if (!any)
        throw Error(
            fmt::format("no token can follow at position {}: expected at least one finite logit, "
                        "but all are -inf",
                        position));
}

}  // namespace

Sampler::Sampler(const Params& params, int32_t vocab_size, uint32_t sequence)
    : params_(validated(params)),
      vocab_size_(vocab_size),
      sequence_(sequence),
      limit_(params.top_k > 0 ? std::min(params.top_k, vocab_size) : vocab_size),
      penalties_(params, vocab_size) {
    ENSURE(vocab_size >= 1, "vocabulary of a sampler");
    room_.resize(room_for(params, limit_, vocab_size));
}

int32_t Sampler::sample(std::span<const float> logits, int64_t position) {
    ENSURE(logits.size() == static_cast<size_t>(vocab_size_), "logits of a sampler");
    const auto adjusted = penalties_.apply(logits);
    if (is_greedy(params_)) {
        const int32_t id = choice::best_candidate(adjusted, 0).id;
        require_any(id >= 0, position);
        return id;
    }
    const auto candidates = survivors(adjusted);
    require_any(!candidates.empty(), position);
    return choice::draw(candidates, params_.temperature, {params_.seed, sequence_, position}).id;
}

std::span<const choice::Candidate> Sampler::survivors(std::span<const float> logits) {
    auto candidates = choice::top_candidates(logits, 0, limit_, room_);
    if (candidates.empty()) return candidates;
    if (params_.top_p < 1)
        candidates = choice::keep_top_p(candidates, params_.top_p, choice::log_sum_exp(candidates));
    if (params_.min_p > 0) candidates = choice::keep_min_p(candidates, params_.min_p);
    return candidates;
}

}  // namespace plait::sample
