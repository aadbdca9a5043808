#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "plait/choice/candidates.h"
#include "plait/choice/exp_sum.h"
#include "plait/choice/gumbel.h"
#include "plait/choice/penalty.h"

// What is asked of a slice of a row of logits, so that the next token can be chosen without them, and what is
// answered. Questions and answers are plain values that travel as bytes. Nothing here allocates; all of it is
// safe from any thread.
namespace plait::choice {

// Asked of every slice of a row alike. Nothing wanted: nothing is answered.
struct Ask {
    DrawKey key;
    Penalty penalty;
    double temperature = 0;  // of the draw
    int32_t top = 0;         // how many of the best candidates, at most the room of the answer
    int16_t sum = 0;         // 1: the sum of exp(logit)
    int16_t drawn = 0;       // 1: the best perturbed candidate

    bool anything() const { return top > 0 || sum != 0 || drawn != 0; }
};

// Without gaps: equal answers are equal bytes.
struct SliceHead {
    int32_t found = 0;      // candidates listed
    int32_t complete = 1;   // 1: no candidate is left out
    int32_t broken = 0;     // 1: a logit is NaN or +infinity; then nothing else is answered
    int32_t drawn_id = -1;  // of the best perturbed candidate; -1: none wanted, or all are masked
    double drawn_value = -std::numeric_limits<double>::infinity();
    ExpSum sum;  // of all candidates, listed or not

    Perturbed drawn() const { return {drawn_id, drawn_value}; }
};

// An answer: a head, then candidates, the best first. Logits are as they are after changes.
class Slice {
  public:
    // `bytes`: aligned for doubles, slice_bytes(room) of them. Makes no answer of them yet.
    Slice() = default;
    Slice(std::byte* bytes, int64_t room) : bytes_(bytes), room_(room) {}

    SliceHead& head() const { return *reinterpret_cast<SliceHead*>(bytes_); }
    // All that there is room for; the first head().found of them mean something.
    std::span<Candidate> room() const {
        return {reinterpret_cast<Candidate*>(bytes_ + sizeof(SliceHead)), static_cast<size_t>(room_)};
    }
    std::span<Candidate> candidates() const { return room().first(static_cast<size_t>(head().found)); }
    // Makes it the answer of no logits, or of broken ones; every byte is written.
    void clear() const;
    void refuse() const;

  private:
    std::byte* bytes_ = nullptr;
    int64_t room_ = 0;
};

constexpr int64_t slice_bytes(int64_t room) {
    return static_cast<int64_t>(sizeof(SliceHead)) + room * static_cast<int64_t>(sizeof(Candidate));
}

// Whether a list of `found` candidates, where `top` were wanted, certainly has all of so many logits.
constexpr bool is_complete(int64_t found, int64_t top, int64_t logits) {
    return found < top || logits <= top;
}

// Answers for the logits with ids from `first_id` on. `changes`, sorted by id, may name ids that are not
// among them. `room`: for Selection with the limit ask.top.
void answer(const Ask& ask, std::span<const Change> changes, std::span<const float> logits, int32_t first_id,
            std::span<Candidate> room, Slice to);

// At least as many as a device may have members.
inline constexpr size_t kMostSlices = 256;

// One answer of several slices, at most kMostSlices, of a row that have no id in common: no list is longer
// than wanted, and what is listed is the best there is, so the list ends where a slice that left candidates
// out has none left. No more than there is room for, nor than `top`.
void join(std::span<const Slice> slices, int64_t top, Slice to);

}  // namespace plait::choice
