#include "plait/choice/slice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <type_traits>

#include "plait/base/ensure.h"
#include "plait/choice/selection.h"

namespace plait::choice {
namespace {

static_assert(std::is_trivially_copyable_v<Ask> && std::is_trivially_copyable_v<SliceHead>);
static_assert(sizeof(SliceHead) == 4 * sizeof(int32_t) + sizeof(double) + sizeof(ExpSum) &&
              sizeof(Candidate) == 8);

constexpr float kMasked = -std::numeric_limits<float>::infinity();

// Shows the logits in order of their ids, changed where they are to be: f(logits, first id) for stretches.
// Ends, with false, where f says false.
template <class F>
bool in_order(const Ask& ask, std::span<const Change> changes, std::span<const float> logits,
              int32_t first_id, F f) {
    const auto end_id = first_id + static_cast<int32_t>(logits.size());
    auto change = std::ranges::lower_bound(changes, first_id, {}, &Change::id);
    int32_t next = first_id;
    const auto stretch = [&](int32_t to) {
        const auto begin = static_cast<size_t>(next - first_id), count = static_cast<size_t>(to - next);
        return count == 0 || f(logits.subspan(begin, count), next);
    };
    for (; change != changes.end() && change->id < end_id; ++change) {
        if (!stretch(change->id)) return false;
        const float logit = changed(logits[static_cast<size_t>(change->id - first_id)], *change, ask.penalty);
        if (!f(std::span(&logit, 1), change->id)) return false;
        next = change->id + 1;
    }
    return stretch(end_id);
}

// The same, logit by logit, without the masked ones.
template <class F>
bool each_in_order(const Ask& ask, std::span<const Change> changes, std::span<const float> logits,
                   int32_t first_id, F f) {
    return in_order(ask, changes, logits, first_id, [&](std::span<const float> stretch, int32_t id) {
        for (const float logit : stretch) {
            if (logit != kMasked) {
                if (!std::isfinite(logit)) return false;
                f(Candidate{id, logit});
            }
            ++id;
        }
        return true;
    });
}

// False when a logit is not finite.
bool fill(const Ask& ask, std::span<const Change> changes, std::span<const float> logits, int32_t first_id,
          std::span<Candidate> room, Slice to) {
    SliceHead& head = to.head();
    if (ask.top > 0) {
        Selection selection(ask.top, room.first(std::min(room.size(), Selection::room_for(ask.top))));
        const auto show = [&](std::span<const float> stretch, int32_t id) {
            return selection.show(stretch, id);
        };
        if (!in_order(ask, changes, logits, first_id, show)) return false;
        const auto best = selection.best_first();
        std::ranges::copy(best, to.room().begin());
        head.found = static_cast<int32_t>(best.size());
    }
    head.complete =
        static_cast<int32_t>(is_complete(head.found, ask.top, static_cast<int64_t>(logits.size())));
    const auto each = [&](auto f) { return each_in_order(ask, changes, logits, first_id, f); };
    if (ask.sum != 0 && !each([&](const Candidate& candidate) { head.sum.add(candidate.logit); }))
        return false;
    if (ask.drawn == 0) return true;
    Perturbed drawn = head.drawn();
    const bool finite =
        each([&](const Candidate& candidate) { perturb(candidate, ask.temperature, ask.key, drawn); });
    head.drawn_id = drawn.id;
    head.drawn_value = drawn.value;
    return finite;
}

// The slices of a row on the way to one answer, candidate by candidate.
class Joining {
  public:
    explicit Joining(std::span<const Slice> slices) : slices_(slices) {
        ENSURE(slices.size() <= kMostSlices, "slices to join");
    }

    // The best candidate that has not been taken, and takes it. None when a slice that left some out has no
    // more to show: it may have the next.
    std::optional<Candidate> next() {
        std::optional<Candidate> best;
        size_t from = 0;
        for (size_t i = 0; i < slices_.size(); ++i) {
            const auto candidates = slices_[i].candidates();
            if (taken_[i] == candidates.size()) {
                if (slices_[i].head().complete == 0) return std::nullopt;
                continue;
            }
            const Candidate& first = candidates[taken_[i]];
            if (best && !better(first, *best)) continue;
            best = first;
            from = i;
        }
        if (best) ++taken_[from];
        return best;
    }

  private:
    std::span<const Slice> slices_;
    std::array<size_t, kMostSlices> taken_{};
};

}  // namespace

void Slice::clear() const {
    std::fill_n(bytes_, slice_bytes(room_), std::byte{0});
    head() = SliceHead();
}

void Slice::refuse() const {
    clear();
    head().broken = 1;
    head().complete = 0;
}

void answer(const Ask& ask, std::span<const Change> changes, std::span<const float> logits, int32_t first_id,
            std::span<Candidate> room, Slice to) {
    ENSURE(ask.top <= static_cast<int64_t>(to.room().size()), "room of an answer");
    to.clear();
    if (fill(ask, changes, logits, first_id, room, to)) return;
    to.refuse();
}

void join(std::span<const Slice> slices, int64_t top, Slice to) {
    to.clear();
    SliceHead& head = to.head();
    for (const Slice& slice : slices) {
        const SliceHead& part = slice.head();
        head.broken |= part.broken;
        head.complete &= part.complete;
    }
    if (head.broken != 0) return to.refuse();
    for (const Slice& slice : slices) {
        const SliceHead& part = slice.head();
        head.sum.add(part.sum);
        if (!better(part.drawn(), head.drawn())) continue;
        head.drawn_id = part.drawn_id;
        head.drawn_value = part.drawn_value;
    }
    Joining joining(slices);
    const auto room =
        to.room().first(static_cast<size_t>(std::min<int64_t>(top, static_cast<int64_t>(to.room().size()))));
    while (const auto next = joining.next()) {
        if (static_cast<size_t>(head.found) == room.size()) {
            head.complete = 0;
            return;
        }
        room[static_cast<size_t>(head.found++)] = *next;
    }
}

}  // namespace plait::choice
