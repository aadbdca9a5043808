#include "plait/backends/cpu/program.h"

#include <algorithm>

#include "plait/backends/cpu/lower.h"
#include "plait/backends/cpu/memory.h"
#include "plait/base/ensure.h"

namespace plait::backends::cpu {
namespace {

int64_t round_up(int64_t bytes, int64_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

std::byte* address(const device::Region& region) {
    return static_cast<CpuBuffer*>(region.buffer)->begin(region.tensor) + region.offset;
}

std::byte* address(device::Buffer* buffer, int32_t tensor) {
    return static_cast<CpuBuffer*>(buffer)->begin(tensor);
}

// Turns places into addresses for one set of bindings.
class Binder {
  public:
    Binder(const device::Bindings& bindings, const ir::StepView& step) : bindings_(bindings), step_(step) {}
    // With a worker's own copies.
    Binder(const Binder& other, std::span<const OwnCopy> copies, int worker)
        : bindings_(other.bindings_), step_(other.step_), copies_(copies), worker_(worker) {}

    ir::Operand operand(const Place& place) const { return {place.desc, data(place)}; }

    // Quantised values at an offset in scratch; those of a whole value are as many as it has.
    simd::ActBlocks quantised(int64_t offset, const Place& value) const {
        if (offset < 0) return {};
        const OwnCopy* copy = own_copy(offset);
        return quantised_at(scratch(offset), copy != nullptr ? copy->values : value.desc.shape.elements());
    }

    device::Region region(const Place& place) const {
        const int64_t bytes = place.desc.bytes();
        device::Region region{.row_bytes = bytes, .rows = 1, .stride = bytes};
        if (place.home == Home::scratch) {
            region.buffer = bindings_.scratch;
            region.offset = place.offset;
        } else {
            ENSURE(place.home == Home::output, "the host sees activations only");
            region.buffer = bindings_.outputs;
            region.tensor = place.index;
        }
        return region;
    }

  private:
    const OwnCopy* own_copy(int64_t offset) const {
        const auto found = std::ranges::find(copies_, offset, &OwnCopy::shared);
        return found == copies_.end() ? nullptr : &*found;
    }

    std::byte* scratch(int64_t offset) const {
        const OwnCopy* copy = own_copy(offset);
        return address(bindings_.scratch, 0) + (copy != nullptr ? copy->own + worker_ * copy->bytes : offset);
    }

    std::byte* data(const Place& place) const {
        const auto index = static_cast<size_t>(place.index);
        switch (place.home) {
            case Home::scratch:
                return scratch(place.offset);
            case Home::weight:
                return address(bindings_.weights[index]);
            case Home::state:
                return address(bindings_.state[index]);
            case Home::output:
                return address(bindings_.outputs, place.index);
            case Home::step_input:
                return ir::step_input_data(step_, static_cast<ir::StepInput>(place.index));
        }
        return nullptr;
    }

    const device::Bindings& bindings_;
    const ir::StepView& step_;
    std::span<const OwnCopy> copies_;
    int worker_ = 0;
};

// Fills `bound`, whose address is final: the call's spans point into it.
void bind_step(BoundStep& bound, const Step& step, const Binder& binder, const device::Bindings& bindings,
               const CpuProgram& program, const ir::StepView& view) {
    bound.kernel = step.kernel;
    bound.name = step.name.c_str();
    bound.barrier_before = step.barrier_before;
    bound.by_everybody = step.by_everybody;
    bound.no_barrier_if_few = step.no_barrier_if_few;
    for (const Place& place : step.inputs) bound.operands.push_back(binder.operand(place));
    for (const Place& place : step.outputs) bound.operands.push_back(binder.operand(place));
    const std::span<const ir::Operand> all = bound.operands;
    bound.call.op = step.op;
    bound.call.operands = {all.first(step.inputs.size()), all.subspan(step.inputs.size()), &view};
    bound.call.simd = &program.simd();
    bound.call.workers = program.workers();
    if (step.meets) bound.call.meeting = &bound.meeting;
    if (!step.inputs.empty()) bound.call.quantised = binder.quantised(step.quantised_offset, step.inputs[0]);
    if (!step.outputs.empty()) bound.call.twin = binder.quantised(step.twin_offset, step.outputs[0]);
    bound.stretch = step.stretch;
    if (step.shared_offset >= 0) {
        bound.call.shared = {address(bindings.scratch, 0) + step.shared_offset,
                             static_cast<size_t>(step.shared.bytes)};
    }
    bound.counters = std::vector<std::atomic<int32_t>>(static_cast<size_t>(step.shared.counters));
    bound.call.counters = bound.counters;
    const auto bind_others = [&](const std::vector<Step>& steps) {
        std::vector<std::unique_ptr<BoundStep>> others;
        for (const Step& other : steps) {
            others.push_back(std::make_unique<BoundStep>());
            bind_step(*others.back(), other, binder, bindings, program, view);
        }
        return others;
    };
    bound.joined = bind_others(step.joined);
    bound.followers = bind_others(step.followers);
    ENSURE(bound.followers.size() <= 1, "a step is followed by one");
    for (const auto& follower : bound.followers) {
        bound.call.then = &follower->call;
        bound.call.then_values = follower->kernel->values;
    }
    bound.head_followers = bind_others(step.head_followers);
    for (const auto& follower : bound.head_followers)
        bound.then_heads.push_back({&follower->call, follower->kernel->run});
    bound.call.then_heads = bound.then_heads;
}

void bind_for_workers(BoundStep& bound, const Step& step, const Binder& binder,
                      const device::Bindings& bindings, const CpuProgram& program, const ir::StepView& view) {
    if (step.own_copies.empty()) return;
    for (int worker = 0; worker < program.workers(); ++worker) {
        bound.of_worker.push_back(std::make_unique<BoundStep>());
        bind_step(*bound.of_worker.back(), step, Binder(binder, step.own_copies, worker), bindings, program,
                  view);
        bound.of_worker.back()->call.counters = bound.call.counters;  // which all workers share
        bound.of_worker.back()->call.meeting = bound.call.meeting;
    }
}

// What a member brings to the meeting in front of a bound step.
collectives::local::Part part_of(const BoundStep& bound, const Step& step) {
    collectives::local::Part part;
    if (!step.inputs.empty()) part.term = bound.call.in(0).as<float>();
    const BoundStep* made = &bound;
    for (const char wanted : step.wanted) {
        part.results.push_back({made->call.out().as<float>(), wanted != 0});
        if (!made->followers.empty()) made = made->followers[0].get();
    }
    return part;
}

}  // namespace

CpuProgram::CpuProgram(ir::Graph graph, const device::DeviceDescription& device,
                       std::span<const Kernel> kernels, const simd::KernelTable& simd,
                       std::span<const int> layouts, const Meeting& group)
    : graph_(std::move(graph)), simd_(simd), workers_(device.workers), group_(group) {
    Lowered lowered = lower(graph_, device, kernels, layouts, group.group != nullptr);
    segments_ = std::move(lowered.segments);
    workspace_offset_ = round_up(lowered.scratch_bytes, kAlignment);
    workspace_bytes_ = round_up(lowered.workspace_bytes, kAlignment);
    needs_.scratch_bytes = workspace_offset_ + workspace_bytes_ * workers_;
    needs_.input_values = ir::StepLayout(graph_.capacity(), graph_.groups()).values();
    for (ir::ValueId output : graph_.outputs()) needs_.outputs.push_back(graph_.value(output).desc);
}

void KernelCall::finish(int64_t begin, int64_t count) const {
    if (then != nullptr) {
        then_values(*then, begin, count);
        then->finish(begin, count);
    }
    if (twin.blocks == nullptr) return;
    simd->quantise(out().as<float>() + begin, quantised_from(twin, begin), count);
}

void KernelCall::finish_rows(int64_t row, int64_t rows, int64_t begin, int64_t count) const {
    const int64_t width = out().desc.shape.last();
    if (then != nullptr || twin.blocks != nullptr)
        for (int64_t r = row; r < row + rows; ++r) finish(r * width + begin, count);
    if (then_heads.empty()) return;
    const int64_t head_width = then_heads[0].call->in(0).desc.shape.last();
    const int64_t heads = width / head_width;
    std::atomic<int32_t>* written = &counters[static_cast<size_t>(row / kRowsPerItem * heads)];
    for (int64_t head = begin / head_width; head * head_width < begin + count; ++head) {
        const int64_t here =
            std::min(begin + count, (head + 1) * head_width) - std::max(begin, head * head_width);
        // Who writes a head's last values sees what the others wrote.
        if (written[head].fetch_add(static_cast<int32_t>(here), std::memory_order_acq_rel) + here !=
            head_width)
            continue;
        for (int64_t r = row; r < row + rows; ++r) finish_head(r * heads + head);
    }
}

void KernelCall::finish_head(int64_t head) const {
    for (const ThenHead& then_head : then_heads) then_head.run(*then_head.call, head, nullptr);
}

void BoundStep::reset() {
    next.store(0, std::memory_order_relaxed);
    for (std::atomic<int32_t>& counter : counters) counter.store(0, std::memory_order_relaxed);
}

void BoundStep::run(int64_t item, std::byte* workspace) const {
    for (const auto& other : joined) other->kernel->run(other->call, item, workspace);
    kernel->run(call, item, workspace);
    if (!kernel->finishes) call.finish(item * stretch, stretch);
    if (kernel->by_head) call.finish_head(item);
}

std::unique_ptr<device::BoundProgram> CpuProgram::bind(const device::Bindings& bindings) {
    return std::make_unique<CpuBoundProgram>(*this, bindings);
}

CpuBoundProgram::CpuBoundProgram(const CpuProgram& program, const device::Bindings& bindings)
    : program_(program) {
    ENSURE(bindings.scratch->tensors()[0].bytes() >= program.needs().scratch_bytes,
           "the slot's scratch is large enough");
    const ir::StepLayout layout(program.graph().capacity(), program.graph().groups());
    step_ = layout.view(reinterpret_cast<int32_t*>(address(bindings.inputs, 0)));
    workspace_ = address(bindings.scratch, 0) + program.workspace_offset();
    const Binder binder(bindings, step_);
    for (const Segment& segment : program.segment_list()) {
        BoundSegment& bound = segments_.emplace_back();
        for (const Step& step : segment.steps) {
            bound.steps.push_back(std::make_unique<BoundStep>());
            if (step.meets) {
                bound.steps.back()->meeting = program.group();
                bound.steps.back()->meeting.index = static_cast<int>(bound.meetings.size());
            }
            bind_step(*bound.steps.back(), step, binder, bindings, program, step_);
            bind_for_workers(*bound.steps.back(), step, binder, bindings, program, step_);
            if (step.meets)
                bound.meetings.push_back({bound.steps.size() - 1, part_of(*bound.steps.back(), step)});
        }
        for (const Place& place : segment.shown) bound.shown.push_back(binder.region(place));
        for (const Place& place : segment.received) bound.received.push_back(binder.region(place));
    }
}

}  // namespace plait::backends::cpu
