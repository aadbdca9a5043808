#pragma once

#include <string>
#include <vector>

#include "plait/backends/sim/memory.h"
#include "plait/base/cancel.h"
#include "plait/device/device.h"
#include "plait/plan/storage.h"

namespace plait::backends::sim {

using plan::Home;
using plan::Place;

struct Step {
    const ir::Node* node = nullptr;
    std::vector<Place> operands;  // inputs, then outputs
};

// Steps between two host actions; `shown` and `received` are the operands of the host action behind it.
struct Segment {
    std::vector<Step> steps;
    const ir::Node* host_action = nullptr;
    std::vector<Place> shown;
    std::vector<Place> received;
};

// A graph in its own order, every node computed by its op's reference kernel.
class SimProgram : public device::Program {
  public:
    SimProgram(ir::Graph graph, const device::DeviceDescription& device, std::span<const int> layouts);

    const device::ProgramNeeds& needs() const override { return needs_; }
    int segments() const override { return static_cast<int>(segments_.size()); }
    const ir::Node* host_action(int segment) const override {
        return segments_[static_cast<size_t>(segment)].host_action;
    }
    std::unique_ptr<device::BoundProgram> bind(const device::Bindings& bindings) override;

    const std::string& device_name() const { return device_name_; }
    const ir::Graph& graph() const { return graph_; }
    std::span<const Segment> segment_list() const { return segments_; }

  private:
    const std::string device_name_;
    const ir::Graph graph_;
    std::vector<Segment> segments_;
    device::ProgramNeeds needs_;
};

class SimBoundProgram : public device::BoundProgram {
  public:
    SimBoundProgram(const SimProgram& program, const device::Bindings& bindings);

    const device::Program& program() const override { return program_; }
    void prepare(const ir::StepView&) override {}
    device::Region shown(int segment, int input) const override {
        return segments_[static_cast<size_t>(segment)].shown.at(static_cast<size_t>(input));
    }
    device::Region received(int segment, int output) const override {
        return segments_[static_cast<size_t>(segment)].received.at(static_cast<size_t>(output));
    }

    // Computes a segment, as Stream::run says, on the calling thread. Opens the memory it needs.
    void run(int segment, StopWord& stop) const;

  private:
    struct BoundStep {
        const ir::Node* node = nullptr;
        std::vector<ir::Operand> operands;  // inputs, then outputs

        ir::Call call(const ir::StepView& step) const;
    };
    struct BoundSegment {
        std::vector<BoundStep> steps;
        std::vector<SimBuffer*> buffers;  // all that the steps touch, each once
        std::vector<device::Region> shown;
        std::vector<device::Region> received;
    };

    BoundSegment bind_segment(const Segment& segment, const device::Bindings& bindings) const;
    void compute(const BoundStep& step, StopWord& stop) const;

    const SimProgram& program_;
    ir::StepView step_;  // points into device memory
    std::vector<BoundSegment> segments_;
};

}  // namespace plait::backends::sim
