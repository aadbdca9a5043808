#pragma once

#include <array>
#include <memory>
#include <vector>

#include "plait/device/device.h"
#include "plait/engine/prepared.h"

namespace plait::engine {

// One set of step inputs, outputs and scratch, with every program bound to it. A slot is reused only after
// its step's synchronise().
class Slot {
  public:
    // `weights` and `state` by index, as in device::Bindings.
    Slot(const Prepared& prepared, std::span<const device::Region> weights,
         std::span<const device::Region> state);

    device::BoundProgram& program(size_t capacity) { return *bound_[capacity]; }
    // The host's copy of the step's data, laid out for a capacity.
    ir::StepView& view(size_t capacity) { return views_[capacity]; }
    // The part of it that the step uses.
    std::span<const std::byte> block(size_t capacity) const;
    device::Region inputs(size_t capacity);
    std::array<const device::Buffer*, 3> buffers() const {
        return {inputs_.get(), outputs_.get(), scratch_.get()};
    }
    // Rows of an output: the logits, or the answers about them.
    enum class Output : int32_t { logits, answers };
    struct Rows {
        int64_t first = 0;
        int64_t count = 0;
    };
    device::Region rows(Output output, const Rows& rows, int64_t row_bytes);

  private:
    std::unique_ptr<device::Buffer> inputs_;
    std::unique_ptr<device::Buffer> outputs_;
    std::unique_ptr<device::Buffer> scratch_;
    std::vector<int32_t> host_block_;
    std::vector<int64_t> block_values_;  // by capacity
    std::vector<ir::StepView> views_;    // by capacity, into host_block_
    std::vector<std::unique_ptr<device::BoundProgram>> bound_;
};

}  // namespace plait::engine
