#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plait/backends/cpu/kernel.h"
#include "plait/backends/cpu/memory.h"
#include "plait/backends/cpu/runner.h"
#include "plait/backends/cpu/simd/select.h"
#include "plait/base/cores.h"
#include "plait/device/device.h"
#include "plait/plan/residency.h"

namespace plait::backends::cpu {

struct CpuOptions {
    std::string name = "cpu";
    int workers = 0;        // 0: every usable core
    std::vector<int> pins;  // cores to run on; empty: wherever the system likes
    int node = -1;          // NUMA node to take memory from; -1: wherever it is first touched
    simd::SimdLevel simd = simd::SimdLevel::scalar;
    bool exact = false;  // F32 activations everywhere
    bool repack = true;  // weights may be stored in the packed layout
};

// Processor cores with the host's memory.
class CpuDevice : public device::Device {
  public:
    // `cores` outlives the device. Throws Error when the machine lacks the SIMD level.
    CpuDevice(Cores& cores, const CpuOptions& options);

    const device::DeviceDescription& describe() const override { return description_; }
    device::BufferType& buffer_type(int index) override { return *buffer_types_[static_cast<size_t>(index)]; }
    std::vector<int> choose_layouts(std::span<const ir::Graph* const> graphs, size_t weight_count) override {
        return plan::choose_residency(graphs, weight_count, description_);
    }
    bool can_embed(device::CommunicatorKind kind) const override {
        return kind == device::CommunicatorKind::local;
    }
    void join(device::Communicator& communicator, int member) override;
    std::unique_ptr<device::Program> compile(const ir::Graph& graph, std::span<const int> layouts) override;
    // The workers start with the first stream: planning takes none. Throws Error when the system refuses
    // them.
    std::unique_ptr<device::Stream> make_stream() override;
    std::unique_ptr<device::Event> make_event() override;
    std::optional<device::ProductSpeed> measure_product(const ir::TensorDesc& weight, int layout) override;
    void time_runs(bool on) override { runner().time_runs(on); }
    std::vector<device::RunTimes> run_times() const override;

  private:
    void describe_self();
    collectives::local::Wanted wanted() const;
    Runner& runner();

    Cores& cores_;
    const CpuOptions options_;
    const simd::KernelTable& simd_;
    std::vector<Kernel> kernels_;
    std::vector<std::unique_ptr<CpuBufferType>> buffer_types_;
    device::DeviceDescription description_;
    Meeting group_;                                              // none until it has joined one
    std::unique_ptr<collectives::local::LocalGroup> own_group_;  // of a device on its own
    std::unique_ptr<Runner> runner_;
};

}  // namespace plait::backends::cpu
