#include "plait/ir/step.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

#include "plait/base/ensure.h"

namespace plait::ir {
namespace {

// Hands out consecutive pieces of the block; with a null block it only counts.
class Carver {
  public:
    explicit Carver(int32_t* block) : block_(block) {}

    std::span<int32_t> take(int64_t count) {
        int32_t* begin = block_ == nullptr ? nullptr : block_ + used_;
        used_ += count;
        return {begin, begin == nullptr ? 0 : static_cast<size_t>(count)};
    }
    int32_t* take_one() { return take(1).data(); }
    int64_t used() const { return used_; }

  private:
    int32_t* block_;
    int64_t used_ = 0;
};

StepView carve(Carver& carver, const Capacity& capacity, std::span<const StepGroupLimits> groups) {
    StepView view;
    view.token_count = carver.take_one();
    view.output_count = carver.take_one();
    view.sequence_count = carver.take_one();
    view.tokens = carver.take(capacity.tokens);
    view.positions = carver.take(capacity.tokens);
    view.output_rows = carver.take(capacity.outputs);
    view.token_begin = carver.take(capacity.sequences + 1);
    for (const StepGroupLimits& limits : groups) {
        StepGroup group;
        group.write_slots = carver.take(capacity.tokens);
        group.lengths = carver.take(capacity.sequences);
        group.page_begin = carver.take(capacity.sequences + 1);
        group.pages = carver.take(capacity.sequences * limits.max_pages_per_sequence);
        group.first_page = carver.take(capacity.sequences);
        group.copy_count = carver.take_one();
        group.copy_from = carver.take(capacity.sequences);
        group.copy_to = carver.take(capacity.sequences);
        view.groups.push_back(group);
    }
    if (capacity.choices > 0) {
        const auto asks = carver.take(capacity.choices * StepChoices::kAskValues);
        const auto change_begin = carver.take(capacity.choices + 1);
        const auto changes =
            carver.take(capacity.choices * StepChoices::kMostChanges * StepChoices::kChangeValues);
        view.choices = StepChoices(asks, change_begin, changes);
    }
    return view;
}

static_assert(std::is_trivially_copyable_v<choice::Ask> && sizeof(choice::Ask) % sizeof(int32_t) == 0);
static_assert(std::is_trivially_copyable_v<choice::Change> && alignof(choice::Change) == alignof(int32_t));

}  // namespace

bool StepChoices::fill(int64_t row, const choice::Ask& ask, std::span<const choice::Change> changes) {
    const auto at = static_cast<size_t>(row);
    ENSURE((at + 1) * kAskValues <= asks_.size(), "a row that may be chosen from");
    if (row == 0) change_begin_[0] = 0;
    const auto begin = static_cast<size_t>(change_begin_[at]);
    const bool fits = (begin + changes.size()) * kChangeValues <= changes_.size();
    const choice::Ask asked = fits ? ask : choice::Ask();
    if (fits && !changes.empty())  // an empty list may have no address
        std::memcpy(changes_.data() + begin * kChangeValues, changes.data(), changes.size_bytes());
    std::memcpy(asks_.data() + at * kAskValues, &asked, sizeof(asked));
    change_begin_[at + 1] = static_cast<int32_t>(fits ? begin + changes.size() : begin);
    return fits;
}

choice::Ask StepChoices::ask(int64_t row) const {
    std::array<int32_t, kAskValues> values;
    std::copy_n(asks_.data() + row * kAskValues, kAskValues, values.begin());
    return std::bit_cast<choice::Ask>(values);
}

std::span<const choice::Change> StepChoices::changes(int64_t row) const {
    const auto begin = static_cast<size_t>(change_begin_[static_cast<size_t>(row)]);
    const auto end = static_cast<size_t>(change_begin_[static_cast<size_t>(row) + 1]);
    return {reinterpret_cast<const choice::Change*>(changes_.data()) + begin, end - begin};
}

int64_t StepChoices::unused_values(int64_t rows) const {
    const int64_t used = rows == 0 || change_begin_.empty() ? 0 : change_begin_[static_cast<size_t>(rows)];
    return static_cast<int64_t>(changes_.size()) - used * kChangeValues;
}

StepLayout::StepLayout(const Capacity& capacity, std::span<const StepGroupLimits> groups)
    : capacity_(capacity), groups_(groups.begin(), groups.end()) {
    Carver counter(nullptr);
    carve(counter, capacity_, groups_);
    values_ = counter.used();
}

StepView StepLayout::view(int32_t* block) const {
    Carver carver(block);
    return carve(carver, capacity_, groups_);
}

}  // namespace plait::ir
