#include "plait/choice/selection.h"

#include <algorithm>
#include <cmath>

#include "plait/base/ensure.h"

namespace plait::choice {
namespace {

constexpr size_t kBlock = 64;  // logits that are compared at once

constexpr auto kBetter = [](const Candidate& a, const Candidate& b) { return better(a, b); };

// Written so that NaN does not pass unseen, and that a compiler makes vector instructions of it.
bool any_above(const float* logits, float threshold) {
    int any = 0;
    for (size_t i = 0; i < kBlock; ++i) any |= static_cast<int>(!(logits[i] <= threshold));
    return any != 0;
}

}  // namespace

Selection::Selection(int64_t limit, std::span<Candidate> room)
    : limit_(static_cast<size_t>(limit)), room_(room) {
    ENSURE(limit >= 1, "limit of a selection");
}

bool Selection::show(std::span<const float> logits, int32_t first_id) {
    size_t i = 0;
    while (i < logits.size()) {
        if (i + kBlock <= logits.size() && !any_above(&logits[i], threshold_)) {
            i += kBlock;
            continue;
        }
        for (const size_t end = std::min(i + kBlock, logits.size()); i < end; ++i) {
            if (logits[i] <= threshold_) continue;
            if (!take(logits[i], first_id + static_cast<int32_t>(i))) return false;
        }
    }
    return true;
}

// Ids rise, so an equal logit later on loses its tie: below the threshold includes equal to it.
bool Selection::take(float logit, int32_t id) {
    if (!std::isfinite(logit)) return false;
    if (limit_ == 1) {
        room_[0] = {id, logit};
        kept_ = 1;
        threshold_ = logit;
        return true;
    }
    if (kept_ == room_.size()) {
        ENSURE(kept_ > limit_, "room of a selection");
        std::nth_element(room_.begin(), room_.begin() + static_cast<std::ptrdiff_t>(limit_ - 1), room_.end(),
                         kBetter);
        kept_ = limit_;
        threshold_ = room_[limit_ - 1].logit;
        if (logit <= threshold_) return true;
    }
    room_[kept_++] = {id, logit};
    return true;
}

std::span<Candidate> Selection::best_first() {
    const auto found = room_.first(kept_);
    kept_ = std::min(kept_, limit_);
    if (kept_ < found.size())
        std::nth_element(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(kept_ - 1), found.end(),
                         kBetter);
    std::sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(kept_), kBetter);
    return found.first(kept_);
}

std::span<Candidate> Selection::by_id_if_all() {
    const bool all = kept_ <= limit_ && threshold_ == -std::numeric_limits<float>::infinity();
    return all ? room_.first(kept_) : best_first();
}

}  // namespace plait::choice
