#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "plait/backends/cpu/kernel.h"
#include "plait/device/device.h"
#include "plait/plan/storage.h"

namespace plait::backends::cpu {

using plan::Home;
using plan::Place;

// A value that every worker has for itself while a step has few tokens: in place of the bytes at `shared`,
// worker w uses those at `own` + w * `bytes`, `values` of them. Offsets in scratch.
struct OwnCopy {
    int64_t shared = 0;
    int64_t own = 0;
    int64_t bytes = 0;
    int64_t values = 0;
};

// One unit of work: a node, or the quantising of a value that several nodes read.
struct Step {
    const Kernel* kernel = nullptr;
    const ir::Op* op = nullptr;  // of the graph's node; nullptr for quantising
    std::string name;
    std::vector<Place> inputs;
    std::vector<Place> outputs;
    int64_t quantised_offset = -1;  // in scratch: the first input for kernels that want it quantised
    int64_t twin_offset = -1;    // in scratch: where the output's quantised twin goes, written item by item
    int64_t stretch = 0;         // values per item, with a twin
    int64_t shared_offset = -1;  // in scratch: SharedNeeds::bytes
    SharedNeeds shared;
    bool barrier_before = false;  // something it needs was made since the last barrier
    // With few tokens: every worker does it for itself; no barrier, since what it needs was done so.
    bool by_everybody = false;
    bool no_barrier_if_few = false;
    // The members of a group meet in front of it: no barrier of the member's own is needed there.
    bool meets = false;
    std::vector<char> wanted;  // with `meets`: by what is made (Part::results), whether another step reads it
    std::vector<OwnCopy> own_copies;  // of what it reads and writes
    // Other steps without barriers of their own: those whose item `i` is run before this one's, the one that
    // follows every stretch of values (Kernel::values), if any, and those that follow every head
    // (Kernel::by_head), in their order.
    std::vector<Step> joined;
    std::vector<Step> followers;
    std::vector<Step> head_followers;
};

// Steps between two host actions; `shown` and `received` are the operands of the host action behind it.
struct Segment {
    std::vector<Step> steps;
    const ir::Node* host_action = nullptr;
    std::vector<Place> shown;
    std::vector<Place> received;
};

class CpuProgram : public device::Program {
  public:
    // `kernels` is the device's table and outlives the program; `layouts` as in Device::compile. With a
    // group, which outlives it too, the graph may have collectives: it is that member's of the group.
    CpuProgram(ir::Graph graph, const device::DeviceDescription& device, std::span<const Kernel> kernels,
               const simd::KernelTable& simd, std::span<const int> layouts, const Meeting& group = {});

    const device::ProgramNeeds& needs() const override { return needs_; }
    int segments() const override { return static_cast<int>(segments_.size()); }
    const ir::Node* host_action(int segment) const override {
        return segments_[static_cast<size_t>(segment)].host_action;
    }
    std::unique_ptr<device::BoundProgram> bind(const device::Bindings& bindings) override;

    const ir::Graph& graph() const { return graph_; }
    std::span<const Segment> segment_list() const { return segments_; }
    const simd::KernelTable& simd() const { return simd_; }
    int32_t workers() const { return workers_; }
    const Meeting& group() const { return group_; }  // without an index
    int64_t workspace_offset() const { return workspace_offset_; }
    int64_t workspace_bytes() const { return workspace_bytes_; }  // of one worker

  private:
    const ir::Graph graph_;
    const simd::KernelTable& simd_;
    int32_t workers_;
    const Meeting group_;
    std::vector<Segment> segments_;
    device::ProgramNeeds needs_;
    int64_t workspace_offset_ = 0;
    int64_t workspace_bytes_ = 0;
};

// A step with addresses.
struct BoundStep {
    // Before a run of the segment.
    void reset();
    // As a worker does it.
    const BoundStep& as(int worker, bool few_tokens) const {
        return few_tokens && !of_worker.empty() ? *of_worker[static_cast<size_t>(worker)] : *this;
    }
    // One item, what is joined and follows, and what it wrote quantised where somebody wants that.
    void run(int64_t item, std::byte* workspace) const;

    const Kernel* kernel = nullptr;
    const char* name = nullptr;
    bool barrier_before = false;
    bool by_everybody = false;
    bool no_barrier_if_few = false;
    Meeting meeting;
    std::vector<std::unique_ptr<BoundStep>> of_worker;  // with own copies: the step as each worker does it
    std::vector<ir::Operand> operands;                  // inputs, then outputs
    KernelCall call;
    std::vector<std::unique_ptr<BoundStep>> joined;
    std::vector<std::unique_ptr<BoundStep>> followers;
    std::vector<std::unique_ptr<BoundStep>> head_followers;
    std::vector<KernelCall::ThenHead> then_heads;
    std::vector<std::atomic<int32_t>> counters;
    int64_t stretch = 0;
    alignas(64) std::atomic<int64_t> next{0};  // the first item nobody has taken
};

class CpuBoundProgram : public device::BoundProgram {
  public:
    CpuBoundProgram(const CpuProgram& program, const device::Bindings& bindings);

    const device::Program& program() const override { return program_; }
    void prepare(const ir::StepView&) override {}
    device::Region shown(int segment, int input) const override {
        return segments_[static_cast<size_t>(segment)].shown.at(static_cast<size_t>(input));
    }
    device::Region received(int segment, int output) const override {
        return segments_[static_cast<size_t>(segment)].received.at(static_cast<size_t>(output));
    }

    std::span<const std::unique_ptr<BoundStep>> steps(int segment) const {
        return segments_[static_cast<size_t>(segment)].steps;
    }
    // The steps in front of which the members meet, and what this one brings there.
    struct MeetingStep {
        size_t step = 0;
        collectives::local::Part part;
    };
    std::span<const MeetingStep> meetings(int segment) const {
        return segments_[static_cast<size_t>(segment)].meetings;
    }
    bool few_tokens() const { return *step_.token_count <= kFewTokens; }
    std::byte* workspace(int worker) const { return workspace_ + worker * program_.workspace_bytes(); }

  private:
    struct BoundSegment {
        std::vector<std::unique_ptr<BoundStep>> steps;
        std::vector<MeetingStep> meetings;
        std::vector<device::Region> shown;
        std::vector<device::Region> received;
    };

    const CpuProgram& program_;
    ir::StepView step_;
    std::byte* workspace_ = nullptr;
    std::vector<BoundSegment> segments_;
};

}  // namespace plait::backends::cpu
