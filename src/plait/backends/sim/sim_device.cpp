#include "plait/backends/sim/sim_device.h"

#include <fmt/format.h>

#include <utility>

#include "plait/backends/sim/program.h"
#include "plait/base/ensure.h"

namespace plait::backends::sim {
namespace {

// A row for the op if it computes anything.
template <class OpType>
void add_row(std::vector<device::SupportRow>& rows) {
    if (OpType::descriptor().reference == nullptr) return;
    rows.push_back({.op = ir::op_id_of<OpType>(),
                    .weight_formats = device::weight_formats(),
                    .state_formats = device::cache_formats()});
}

template <size_t... I>
std::vector<device::SupportRow> all_rows(std::index_sequence<I...>) {
    std::vector<device::SupportRow> rows;
    (add_row<std::variant_alternative_t<I, ir::Op>>(rows), ...);
    return rows;
}

device::DeviceDescription describe(const SimOptions& options) {
    const int64_t memory = options.memory_bytes > 0 ? options.memory_bytes : kDefaultMemory;
    return {.name = options.name,
            .kind = "sim",
            .signature = "reference/1",
            .details = fmt::format("simulated accelerator, reference kernels, {} MiB", memory >> 20),
            .memory = options.name,
            .memory_bytes = memory,
            .rows = all_rows(std::make_index_sequence<ir::kOpCount>())};
}

}  // namespace

SimDevice::SimDevice(Cores& cores, const SimOptions& options)
    : cores_(cores),
      options_(options),
      description_(sim::describe(options)),
      rows_(options.name, description_.memory_bytes) {
    description_.buffer_types = {rows_.describe()};
}

device::BufferType& SimDevice::buffer_type(int index) {
    ENSURE(index == 0, "the simulated device has one buffer type");
    return rows_;
}

std::unique_ptr<device::Program> SimDevice::compile(const ir::Graph& graph, std::span<const int> layouts) {
    return std::make_unique<SimProgram>(graph, description_, layouts);
}

std::unique_ptr<device::Stream> SimDevice::make_stream() {
    const Delays delays{.seed = options_.seed + streams_++, .max_us = options_.max_delay_us};
    return std::make_unique<SimStream>(rows_, cores_, delays, count_);
}

std::unique_ptr<device::Event> SimDevice::make_event() { return std::make_unique<SimEvent>(); }

void SimDevice::time_runs(bool on) {
    if (on) {
        count_.seconds = 0;
        count_.runs = 0;
    }
    count_.on = on;
}

std::vector<device::RunTimes> SimDevice::run_times() const {
    return {{.compute = count_.seconds, .runs = count_.runs}};
}

}  // namespace plait::backends::sim
