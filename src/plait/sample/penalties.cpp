#include "plait/sample/penalties.h"

#include "plait/base/ensure.h"

namespace plait::sample {
namespace {

bool is_on(const Params& params) {
    const bool changes_something =
        params.repeat_penalty != 1 || params.presence_penalty != 0 || params.frequency_penalty != 0;
    return changes_something && params.repeat_last_n != 0;
}

}  // namespace

float penalised(float logit, int32_t count, const Params& params) {
    if (count == 0) return logit;
    double value = logit;
    value = value > 0 ? value / params.repeat_penalty : value * params.repeat_penalty;
    return static_cast<float>(value - count * params.frequency_penalty - params.presence_penalty);
}

Penalties::Penalties(const Params& params, int32_t vocab_size) : params_(params) {
    if (!is_on(params)) return;
    if (params.repeat_last_n > 0) window_.resize(params.repeat_last_n);
    counts_.resize(vocab_size);
    changed_.resize(vocab_size);
}

void Penalties::accept(int32_t token) {
    if (counts_.empty()) return;
    ENSURE(token >= 0 && static_cast<size_t>(token) < counts_.size(), "accepted token");
    ++counts_[token];
    if (window_.empty()) return;
    if (held_ == window_.size()) forget_oldest();
    window_[next_] = token;
    next_ = (next_ + 1) % window_.size();
    ++held_;
}

// In a full ring the oldest token lies where the next one goes.
void Penalties::forget_oldest() {
    --counts_[window_[next_]];
    --held_;
}

std::span<const float> Penalties::apply(std::span<const float> logits) {
    if (counts_.empty()) return logits;
    ENSURE(logits.size() == counts_.size(), "logits to penalise");
    for (size_t id = 0; id < logits.size(); ++id) changed_[id] = penalised(logits[id], counts_[id], params_);
    return changed_;
}

}  // namespace plait::sample
