#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plait/base/error.h"
#include "plait/device/device.h"
#include "plait/ir/test_support.h"

// What tests of devices need: bytes, buffers, a program with all it is bound to, and what the program should
// have computed. Linked by tests and by `plait selftest` (plait_device_check).
namespace plait::device::contract {

using Bytes = std::vector<std::byte>;
using ir::test::TestTensor;

Bytes random_bytes(int64_t count, uint64_t seed);
// The sentence of the Error that `action` throws; empty if it throws none.
template <class Action>
std::string error_of(Action action) {
    try {
        action();
    } catch (const Error& error) {
        return error.what();
    }
    return {};
}

// One tensor in plain rows, as a step's buffers have them.
std::unique_ptr<Buffer> alloc_rows(Device& device, const ir::TensorDesc& desc, Usage usage = Usage::compute);
// Waits for the stream.
Bytes read_now(Stream& stream, const Region& from);

// What a program reads beside its graph.
struct Material {
    std::vector<TestTensor> weights;   // by weight index
    std::vector<int> layouts;          // by weight index: which buffer type of the device
    std::vector<TestTensor> state;     // by state index
    std::vector<int32_t> block;        // the step's data
    std::vector<TestTensor> received;  // what the host fills in, host action after host action
};

// Weights and state on a device.
class Resident {
  public:
    Resident(Device& device, Stream& stream, const Material& material);

    std::span<const Region> weights() const { return weights_; }
    std::span<const Region> state() const { return state_; }
    // Waits for the stream.
    std::vector<TestTensor> read_state(Stream& stream) const;

  private:
    std::vector<std::unique_ptr<Buffer>> buffers_;
    std::vector<Region> weights_;
    std::vector<Region> state_;
};

// A program bound to one set of step inputs, outputs and scratch.
class Slot {
  public:
    // The buffers have room for `surplus_rows` more rows, and as many more inputs and scratch bytes, than the
    // program needs.
    Slot(Device& device, Program& program, const Resident& resident, int64_t surplus_rows = 0);

    // Queues the step's data and fills the outputs with poison.
    void write_step(Stream& stream, std::span<const int32_t> block);
    void run(Stream& stream, StopWord& stop);  // queues all segments
    void run_segment(Stream& stream, int segment, StopWord& stop) { stream.run(*bound_, segment, stop); }
    // Queues reading the outputs; `to` is valid after synchronise().
    void read_outputs(Stream& stream, std::vector<TestTensor>& to) const;

    BoundProgram& bound() { return *bound_; }

  private:
    const int segments_;
    std::vector<ir::TensorDesc> output_descs_;  // as the buffer has them
    std::unique_ptr<Buffer> inputs_;
    std::unique_ptr<Buffer> outputs_;
    std::unique_ptr<Buffer> scratch_;
    std::unique_ptr<BoundProgram> bound_;
};

// What a program should do.
struct Expected {
    std::vector<TestTensor> outputs;  // poisoned past the actual rows
    std::vector<TestTensor> state;
    std::vector<TestTensor> shown;  // host action after host action, in order of their inputs
};
// Runs a graph by its ops' reference kernels, every value in memory of its own.
Expected run_by_reference(const ir::Graph& graph, const Material& material);

// The largest normalised_error() between actual rows of two lists; infinite when anything past them is not
// poison. Outputs of a larger buffer may have more rows than expected.
double output_error(std::span<const TestTensor> expected, std::span<const TestTensor> actual,
                    const ir::StepView& step);
// The same over whole tensors.
double state_error(std::span<const TestTensor> expected, std::span<const TestTensor> actual);

// A small transformer layer in F32 on a paged cache: two segments, separated by a tap of what the second one
// begins with. Outputs: the wanted rows, and all rows they are taken from.
struct SmallModel {
    ir::Graph graph;
    Material material;  // all weights in plain rows; the block is that of `spec`
};
SmallModel small_model(Device& device, const ir::test::StepSpec& spec);
// A step for it: two texts, some rows of the capacity unused.
ir::test::StepSpec small_step();
// The layout of all its blocks.
ir::StepView view_of(const ir::Graph& graph, std::vector<int32_t>& block);

}  // namespace plait::device::contract
