#include "plait/backends/cpu/cpu_device.h"

#include <fmt/format.h>

#include "plait/backends/cpu/packing.h"
#include "plait/backends/cpu/program.h"
#include "plait/backends/cpu/stream.h"
#include "plait/base/cpu_probe.h"
#include "plait/base/memory_info.h"

namespace plait::backends::cpu {
namespace {

int worker_count(const Cores& cores, const CpuOptions& options) {
    if (options.workers > 0) return options.workers;
    return options.pins.empty() ? cores.usable() : static_cast<int>(options.pins.size());
}

int64_t row_layout_bytes(const ir::TensorDesc& desc) { return desc.bytes(); }

device::BufferTypeDescription host_memory(const char* layout, bool host_readable) {
    return {
        .layout_id = layout, .host_readable = host_readable, .alignment = kAlignment, .over_read = kOverRead};
}

}  // namespace

CpuDevice::CpuDevice(Cores& cores, const CpuOptions& options)
    : cores_(cores), options_(options), simd_(simd::kernels(options.simd)) {
    const bool packed = options.repack && !options.exact;
    kernels_ = kernel_list({.simd = &simd_, .exact = options.exact, .packed = packed});
    if (packed) {
        buffer_types_.push_back(
            std::make_unique<CpuBufferType>(options.name, host_memory(kPackedLayout, false), packed_bytes));
    }
    buffer_types_.push_back(std::make_unique<CpuBufferType>(
        options.name, host_memory(device::kRowLayout, true), row_layout_bytes));
    describe_self();
}

void CpuDevice::describe_self() {
    const int workers = worker_count(cores_, options_);
    description_.name = options_.name;
    description_.kind = "cpu";
    description_.signature = fmt::format("cpu {}{}{}", simd::name(options_.simd),
                                         options_.exact ? " exact" : "", options_.repack ? "" : " rows");
    description_.details = fmt::format("{}, {} kernels, {} thread{}", probe_cpu().name,
                                       simd::name(options_.simd), workers, workers == 1 ? "" : "s");
    description_.memory = "host";
    description_.memory_bytes = static_cast<int64_t>(memory_info().available);
    description_.workers = workers;
    for (const auto& type : buffer_types_) description_.buffer_types.push_back(type->describe());
    for (const Kernel& kernel : kernels_) description_.rows.push_back(kernel.support);
}

std::unique_ptr<device::Program> CpuDevice::compile(const ir::Graph& graph, std::span<const int> layouts) {
    return std::make_unique<CpuProgram>(graph, description_, kernels_, simd_, layouts);
}

std::unique_ptr<device::Stream> CpuDevice::make_stream() {
    if (runner_ == nullptr)
        runner_ = std::make_unique<Runner>(cores_, description_.workers, options_.pins, options_.name);
    return std::make_unique<CpuStream>(*runner_, description_.name);
}

std::unique_ptr<device::Event> CpuDevice::make_event() { return std::make_unique<CpuEvent>(); }

}  // namespace plait::backends::cpu
