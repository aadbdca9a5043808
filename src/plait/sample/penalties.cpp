#include "plait/sample/penalties.h"

#include <fmt/format.h>

#include <algorithm>

#include "plait/base/ensure.h"
#include "plait/base/error.h"

namespace plait::sample {

Penalties::Penalties(const Params& params, int32_t vocab_size)
    : penalty_(params.penalty()),
      vocab_size_(vocab_size),
      counts_(penalty_.changes_anything() && params.repeat_last_n != 0) {
    set_biases(params.biases);
    if (counts_ && params.repeat_last_n > 0) window_.resize(static_cast<size_t>(params.repeat_last_n));
    if (counts_) {
        const int64_t seen =
            params.repeat_last_n > 0 ? std::min(params.repeat_last_n, vocab_size) : vocab_size;
        changes_.reserve(changes_.size() + static_cast<size_t>(seen));
    }
    if (counts_ || !changes_.empty()) changed_.resize(static_cast<size_t>(vocab_size));
}

void Penalties::set_biases(const std::vector<LogitBias>& biases) {
    for (const LogitBias& bias : biases) {
        if (bias.id < 0 || bias.id >= vocab_size_)
            throw Error(
                fmt::format("a logit bias is for token {}, which is outside this model's vocabulary of {}",
                            bias.id, vocab_size_));
        const auto place = find(bias.id);
        if (place != changes_.end() && place->id == bias.id)
            throw Error(fmt::format("there are two logit biases for token {}, expected one", bias.id));
        changes_.insert(place, {.id = bias.id, .bias = bias.bias});
    }
}

// Where the token's change is or belongs.
std::vector<choice::Change>::iterator Penalties::find(int32_t token) {
    return std::ranges::lower_bound(changes_, token, {}, &choice::Change::id);
}

void Penalties::accept(int32_t token) {
    if (!counts_) return;
    ENSURE(token >= 0 && token < vocab_size_, "accepted token");
    if (held_ > 0 && held_ == window_.size()) forget_oldest();
    count(token);
    if (window_.empty()) return;
    window_[next_] = token;
    next_ = (next_ + 1) % window_.size();
    ++held_;
}

void Penalties::count(int32_t token) {
    const auto place = find(token);
    if (place != changes_.end() && place->id == token) {
        ++place->count;
    } else {
        changes_.insert(place, {.id = token, .count = 1});
    }
}

// In a full ring the oldest token lies where the next one goes.
void Penalties::forget_oldest() {
    const auto place = find(window_[next_]);
    --held_;
    if (--place->count == 0 && place->bias == 0) changes_.erase(place);
}

std::span<const float> Penalties::apply(std::span<const float> logits) {
    if (changes_.empty()) return logits;
    ENSURE(logits.size() == changed_.size(), "logits to penalise");
    std::ranges::copy(logits, changed_.begin());
    for (const choice::Change& change : changes_) {
        float& logit = changed_[static_cast<size_t>(change.id)];
        logit = choice::changed(logit, change, penalty_);
    }
    return changed_;
}

}  // namespace plait::sample
