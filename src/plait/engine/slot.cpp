#include "plait/engine/slot.h"

namespace plait::engine {
namespace {

std::unique_ptr<device::Buffer> alloc_compute(device::Device& device,
                                              std::span<const device::StoredTensor> tensors) {
    return device.row_buffer_type().alloc(tensors, device::Usage::compute);
}

std::unique_ptr<device::Buffer> alloc_compute(device::Device& device, ir::DType type, int64_t values) {
    const device::StoredTensor tensor(ir::TensorDesc{type, {values}});
    return alloc_compute(device, {&tensor, 1});
}

std::vector<ir::StepGroupLimits> group_limits(const Prepared& prepared) {
    std::vector<ir::StepGroupLimits> limits;
    for (const models::StatePages& pages : prepared.pages) {
        limits.push_back({pages.page_tokens, pages.max_pages_per_sequence});
    }
    return limits;
}

}  // namespace

Slot::Slot(const Prepared& prepared, std::span<const device::Region> weights,
           std::span<const device::Region> state)
    : inputs_(alloc_compute(*prepared.device, ir::DType::I32, prepared.slot_input_values())),
      outputs_(alloc_compute(*prepared.device, prepared.slot_outputs())),
      scratch_(alloc_compute(*prepared.device, ir::DType::F32, prepared.slot_scratch_bytes() / 4 + 1)),
      host_block_(static_cast<size_t>(prepared.slot_input_values())) {
    const std::vector<ir::StepGroupLimits> limits = group_limits(prepared);
    for (size_t capacity = 0; capacity < prepared.ladder.size(); ++capacity) {
        const ir::StepLayout layout(prepared.ladder[capacity], limits);
        block_values_.push_back(layout.values());
        views_.push_back(layout.view(host_block_.data()));
        bound_.push_back(prepared.programs[capacity]->bind({.weights = weights,
                                                            .state = state,
                                                            .inputs = inputs_.get(),
                                                            .outputs = outputs_.get(),
                                                            .scratch = scratch_.get()}));
    }
}

std::span<const std::byte> Slot::block(size_t capacity) const {
    const ir::StepView& view = views_[capacity];
    const int64_t unused = view.choices.unused_values(*view.output_count);
    return std::as_bytes(std::span(host_block_).first(static_cast<size_t>(block_values_[capacity] - unused)));
}

device::Region Slot::inputs(size_t capacity) {
    const auto bytes = static_cast<int64_t>(block(capacity).size());
    return {.buffer = inputs_.get(), .row_bytes = bytes};
}

device::Region Slot::rows(Output output, const Rows& rows, int64_t row_bytes) {
    return {.buffer = outputs_.get(),
            .tensor = static_cast<int32_t>(output),
            .offset = rows.first * row_bytes,
            .row_bytes = rows.count * row_bytes};
}

}  // namespace plait::engine
