#include "plait/sample/sampler.h"

#include <fmt/format.h>

#include <algorithm>

#include "plait/base/ensure.h"
#include "plait/base/error.h"
#include "plait/choice/selection.h"

namespace plait::sample {
namespace {

constexpr int32_t kMostSkipped = 8;

const Params& validated(const Params& params) {
    validate(params);
    return params;
}

int64_t room_for(const Params& params, int64_t limit, int64_t vocab_size) {
    if (params.greedy()) return 0;
    return std::min(vocab_size, static_cast<int64_t>(choice::Selection::room_for(limit)));
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
    if (params_.greedy()) {
        const int32_t id = choice::best_candidate(adjusted, 0).id;
        require_any(id >= 0, position);
        return id;
    }
    const auto candidates = choice::top_candidates(adjusted, 0, limit_, room_);
    require_any(!candidates.empty(), position);
    const auto whole = params_.top_p < 1 ? choice::exp_sum(candidates) : choice::ExpSum();
    return drawn(*filtered(candidates, true, whole), position);
}

choice::Ask Sampler::ask(int64_t position, int32_t most) const {
    if (skipped_ < useless_ - 1) return {};
    choice::Ask ask{.key = {params_.seed, sequence_, position},
                    .penalty = params_.penalty(),
                    .temperature = params_.temperature};
    if (params_.greedy()) {
        ask.top = 1;
    } else if (has_filters()) {
        ask.top = static_cast<int32_t>(std::min<int64_t>(most, limit_));
        ask.sum = static_cast<int16_t>(params_.top_p < 1 && !has_top_k());
    } else {
        ask.drawn = 1;
    }
    return ask;
}

std::optional<int32_t> Sampler::choose(choice::Slice answer, int64_t position) {
    if (skipped_ < useless_ - 1) {
        ++skipped_;
        return std::nullopt;
    }
    const auto token = chosen(answer, position);
    useless_ = token ? 0 : std::min(useless_ + 1, kMostSkipped + 1);
    skipped_ = 0;
    return token;
}

std::optional<int32_t> Sampler::chosen(choice::Slice answer, int64_t position) const {
    const choice::SliceHead& head = answer.head();
    if (!params_.greedy() && !has_filters())
        return head.drawn_id >= 0 ? std::optional(head.drawn_id) : std::nullopt;
    auto candidates = answer.candidates();
    if (candidates.empty()) return std::nullopt;
    if (params_.greedy()) return candidates[0].id;
    if (static_cast<int64_t>(candidates.size()) > limit_)
        candidates = candidates.first(static_cast<size_t>(limit_));
    const bool all = head.complete != 0 || static_cast<int64_t>(candidates.size()) == limit_;
    if (!all && has_top_k() && params_.top_p < 1) return std::nullopt;  // top-p is of what top-k leaves
    const bool sums = params_.top_p < 1 && has_top_k();
    const auto left = filtered(candidates, all, sums ? choice::exp_sum(candidates) : head.sum);
    return left ? std::optional(drawn(*left, position)) : std::nullopt;
}

// A filter that leaves some of those it is given would leave none behind them either.
std::optional<Sampler::Candidates> Sampler::filtered(Candidates candidates, bool all,
                                                     const choice::ExpSum& whole) const {
    const auto take = [&](Candidates left) {
        all = all || left.size() < candidates.size();
        candidates = left;
    };
    if (params_.top_p < 1) {
        take(choice::keep_top_p(candidates, params_.top_p, whole));
        if (!all) return std::nullopt;
    }
    if (params_.min_p > 0) take(choice::keep_min_p(candidates, params_.min_p));
    return all ? std::optional(candidates) : std::nullopt;
}

int32_t Sampler::drawn(std::span<const choice::Candidate> candidates, int64_t position) const {
    return choice::draw(candidates, params_.temperature, {params_.seed, sequence_, position}).id;
}

}  // namespace plait::sample
