#include "plait/ir/step.h"

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
    return view;
}

}  // namespace

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
