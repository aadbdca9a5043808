#pragma once

#include <memory>
#include <span>
#include <string>

#include "plait/backends/sim/memory.h"
#include "plait/backends/sim/stream.h"
#include "plait/base/cores.h"
#include "plait/device/device.h"
#include "plait/plan/residency.h"

namespace plait::backends::sim {

struct SimOptions {
    std::string name = "sim";
    int64_t memory_bytes = 0;  // 0: kDefaultMemory
    // For tests: a random delay of up to max_delay_us microseconds before everything a queue does.
    uint64_t seed = 0;
    int64_t max_delay_us = 0;
};

inline constexpr int64_t kDefaultMemory = int64_t{8} << 30;

// A simulated accelerator: memory of its own, which the host cannot touch, and queues that work while the
// host goes on. It runs every op, slowly, and gives the reference's bits. What works on it does not rely on
// what only a processor can do.
class SimDevice : public device::Device {
  public:
    // `cores` outlives the device.
    SimDevice(Cores& cores, const SimOptions& options);

    const device::DeviceDescription& describe() const override { return description_; }
    device::BufferType& buffer_type(int index) override;
    std::vector<int> choose_layouts(std::span<const ir::Graph* const> graphs, size_t weight_count) override {
        return plan::choose_residency(graphs, weight_count, description_);
    }
    std::unique_ptr<device::Program> compile(const ir::Graph& graph, std::span<const int> layouts) override;
    // Each stream has a thread of its own. Throws Error when the system refuses it.
    std::unique_ptr<device::Stream> make_stream() override;
    std::unique_ptr<device::Event> make_event() override;
    void time_runs(bool on) override;
    // A run begins when it is its turn: nothing is waited for.
    std::vector<device::RunTimes> run_times() const override;

  private:
    Cores& cores_;
    const SimOptions options_;
    device::DeviceDescription description_;  // memory_bytes: what is left
    SimBufferType rows_;
    uint64_t streams_ = 0;  // ever made
    RunCount count_;
};

}  // namespace plait::backends::sim
