#include "plait/backends/sim/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <numeric>

#include "plait/base/ensure.h"
#include "plait/base/error.h"
#include "plait/plan/storage.h"

namespace plait::backends::sim {
namespace {

constexpr int64_t kNotScratch = -1;

// Splits a graph into segments and places its values.
class Lowering {
  public:
    explicit Lowering(const ir::Graph& graph) : graph_(graph), homes_(graph) { plan_scratch(); }

    std::vector<Segment> segments() const {
        std::vector<Segment> segments(1);
        for (const ir::Node& node : graph_.nodes()) {
            if (ir::op_is_host_action(node.op)) {
                add_host_action(segments.back(), node);
                segments.emplace_back();
            } else if (!ir::op_is_view(node.op)) {
                segments.back().steps.push_back(step_of(node));
            }
        }
        return segments;
    }

    int64_t scratch_bytes() const { return scratch_.bytes; }

  private:
    // Nodes run one after the other, so each is an interval of its own.
    void plan_scratch() {
        std::vector<plan::WorkStep> work;
        for (const ir::Node& node : graph_.nodes()) {
            plan::WorkStep& step = work.emplace_back();
            for (ir::ValueId id : node.inputs) step.reads.push_back(homes_.storage_of(id));
            for (ir::ValueId id : node.outputs) step.writes.push_back(homes_.storage_of(id));
        }
        std::vector<int32_t> intervals(work.size());
        std::iota(intervals.begin(), intervals.end(), 0);
        std::vector<int64_t> bytes;
        for (ir::ValueId root : homes_.roots()) {
            const bool in_scratch = homes_.in_scratch(homes_.storage_of(root));
            bytes.push_back(in_scratch ? graph_.value(root).desc.bytes() : kNotScratch);
        }
        scratch_ = plan::plan_scratch(work, intervals, bytes, kAlignment);
    }

    void add_host_action(Segment& segment, const ir::Node& node) const {
        segment.host_action = &node;
        for (ir::ValueId id : node.inputs) segment.shown.push_back(place_of(id));
        if (ir::op_is_view(node.op)) return;
        for (ir::ValueId id : node.outputs) segment.received.push_back(place_of(id));
    }

    Step step_of(const ir::Node& node) const {
        Step step{&node, {}};
        for (ir::ValueId id : node.inputs) step.operands.push_back(place_of(id));
        for (ir::ValueId id : node.outputs) step.operands.push_back(place_of(id));
        return step;
    }

    Place place_of(ir::ValueId id) const {
        Place place = homes_.place_of(id);
        if (place.home == Home::scratch)
            place.offset = scratch_.offset[static_cast<size_t>(homes_.storage_of(id))];
        return place;
    }

    const ir::Graph& graph_;
    const plan::ValueHomes homes_;
    plan::ScratchPlan scratch_;
};

void check_support(const ir::Graph& graph, const device::DeviceDescription& device,
                   std::span<const int> layouts) {
    for (const ir::Node& node : graph.nodes()) {
        if (ir::op_is_view(node.op) || ir::op_is_host_action(node.op)) continue;
        device::supporting_row(device, graph, node, layouts);
    }
}

// The bound memory of everything but step inputs.
device::Region region_of(const Place& place, const device::Bindings& bindings) {
    const auto index = static_cast<size_t>(place.index);
    const int64_t bytes = place.desc.bytes();
    switch (place.home) {
        case Home::weight:
            return bindings.weights[index];
        case Home::state:
            return bindings.state[index];
        case Home::output:
            return {.buffer = bindings.outputs, .tensor = place.index, .row_bytes = bytes, .stride = bytes};
        case Home::scratch:
            return {.buffer = bindings.scratch, .offset = place.offset, .row_bytes = bytes, .stride = bytes};
        case Home::step_input:
            break;
    }
    ENSURE(false, "step inputs are not regions");
}

SimBuffer* sim_buffer(device::Buffer* buffer) { return static_cast<SimBuffer*>(buffer); }

// A count that the program was not compiled for would make the kernels leave their operands.
void check_rows(const ir::Call& call) {
    for (const auto operands : {call.inputs, call.outputs}) {
        for (const ir::Operand& operand : operands) {
            const int64_t rows = call.rows(operand);
            if (rows < 0 || rows > operand.desc.shape[0]) {
                throw Error(fmt::format("the step has {} rows of {}", rows, operand.desc.text()));
            }
        }
    }
}

}  // namespace

SimProgram::SimProgram(ir::Graph graph, const device::DeviceDescription& device, std::span<const int> layouts)
    : device_name_(device.name), graph_(std::move(graph)) {
    check_support(graph_, device, layouts);
    const Lowering lowering(graph_);
    segments_ = lowering.segments();
    needs_.scratch_bytes = lowering.scratch_bytes();
    needs_.input_values = ir::StepLayout(graph_.capacity(), graph_.groups()).values();
    for (ir::ValueId output : graph_.outputs()) needs_.outputs.push_back(graph_.value(output).desc);
}

std::unique_ptr<device::BoundProgram> SimProgram::bind(const device::Bindings& bindings) {
    return std::make_unique<SimBoundProgram>(*this, bindings);
}

SimBoundProgram::SimBoundProgram(const SimProgram& program, const device::Bindings& bindings)
    : program_(program) {
    ENSURE(bindings.scratch->tensors()[0].bytes() >= program.needs().scratch_bytes,
           "the slot's scratch is large enough");
    const ir::StepLayout layout(program.graph().capacity(), program.graph().groups());
    step_ = layout.view(reinterpret_cast<int32_t*>(sim_buffer(bindings.inputs)->begin(0)));
    for (const Segment& segment : program.segment_list())
        segments_.push_back(bind_segment(segment, bindings));
}

SimBoundProgram::BoundSegment SimBoundProgram::bind_segment(const Segment& segment,
                                                            const device::Bindings& bindings) const {
    BoundSegment bound;
    bound.buffers.push_back(sim_buffer(bindings.inputs));
    for (const Step& step : segment.steps) {
        BoundStep& bound_step = bound.steps.emplace_back();
        bound_step.node = step.node;
        for (const Place& place : step.operands) {
            if (place.home == Home::step_input) {
                const auto input = static_cast<ir::StepInput>(place.index);
                bound_step.operands.push_back({place.desc, ir::step_input_data(step_, input)});
                continue;
            }
            const device::Region region = region_of(place, bindings);
            SimBuffer* buffer = sim_buffer(region.buffer);
            bound_step.operands.push_back({place.desc, buffer->begin(region.tensor) + region.offset});
            if (std::ranges::find(bound.buffers, buffer) == bound.buffers.end())
                bound.buffers.push_back(buffer);
        }
    }
    for (const Place& place : segment.shown) bound.shown.push_back(region_of(place, bindings));
    for (const Place& place : segment.received) bound.received.push_back(region_of(place, bindings));
    return bound;
}

ir::Call SimBoundProgram::BoundStep::call(const ir::StepView& step) const {
    const std::span<const ir::Operand> all = operands;
    return {all.first(node->inputs.size()), all.subspan(node->inputs.size()), &step};
}

void SimBoundProgram::run(int segment, StopWord& stop) const {
    if (stop.stopped()) return;
    const BoundSegment& bound = segments_[static_cast<size_t>(segment)];
    const Opened opened(bound.buffers);
    for (const BoundStep& step : bound.steps) {
        if (stop.stopped()) return;
        compute(step, stop);
    }
}

void SimBoundProgram::compute(const BoundStep& step, StopWord& stop) const {
    try {
        const ir::Call call = step.call(step_);
        check_rows(call);
        ir::op_reference(step.node->op, call);
    } catch (const std::exception& error) {
        stop.fail(fmt::format("{}: {}: {}", program_.device_name(), step.node->name, error.what()));
    }
}

}  // namespace plait::backends::sim
