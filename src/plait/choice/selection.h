#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "plait/choice/candidates.h"

namespace plait::choice {

// The `limit` best of the logits it is shown, in order of their ids, in one pass: most fall below a rising
// threshold, the limit-th best so far, and cost a part of a comparison. Allocates nothing.
class Selection {
  public:
    // limit >= 1. `room` holds limit + 1 candidates or all that are shown, room_for(limit) at best; it
    // belongs to the selection until the result is done with.
    Selection(int64_t limit, std::span<Candidate> room);

    // A larger room makes the threshold rise late, a smaller one often: 40 of 32000 take 20 us with 1024, 10
    // with this.
    static constexpr size_t room_for(int64_t limit) { return static_cast<size_t>(4 * limit + 64); }

    // -infinity is left out. False when a logit is NaN or +infinity: nothing more is taken then.
    bool show(std::span<const float> logits, int32_t first_id);
    bool show(float logit, int32_t id) { return show({&logit, 1}, id); }

    // Those found, at most `limit`, best first.
    std::span<Candidate> best_first();
    // Those found, in the order of their ids when they are no more than `limit`, else best first.
    std::span<Candidate> by_id_if_all();

  private:
    bool take(float logit, int32_t id);

    const size_t limit_;
    const std::span<Candidate> room_;
    size_t kept_ = 0;
    float threshold_ = -std::numeric_limits<float>::infinity();
};

}  // namespace plait::choice
