#include "plait/backends/cpu/cpu_device.h"

#include <fmt/format.h>

#include <algorithm>

#include "plait/backends/cpu/kernels/meetings.h"
#include "plait/backends/cpu/packing.h"
#include "plait/backends/cpu/product_speed.h"
#include "plait/backends/cpu/program.h"
#include "plait/backends/cpu/stream.h"
#include "plait/base/cpu_probe.h"
#include "plait/base/ensure.h"
#include "plait/base/memory_info.h"
#include "plait/base/node_memory.h"

namespace plait::backends::cpu {
namespace {

int worker_count(const Cores& cores, const CpuOptions& options) {
    if (options.workers > 0) return options.workers;
    return options.pins.empty() ? cores.usable() : static_cast<int>(options.pins.size());
}

int64_t row_layout_bytes(const ir::TensorDesc& desc) { return desc.bytes(); }

// Where the system does not tell of a node, nodes are taken to be alike.
uint64_t free_memory(const Cores& cores, int node) {
    if (node < 0) return memory_info().available;
    return node_memory_available(node).value_or(memory_info().available /
                                                std::max<size_t>(1, cores.nodes().size()));
}

std::string cores_text(std::vector<int> pins, int workers) {
    if (static_cast<size_t>(workers) < pins.size()) pins.resize(static_cast<size_t>(workers));
    std::ranges::sort(pins);
    return format_cores(pins);
}

device::BufferTypeDescription host_memory(const char* layout, bool host_readable) {
    return {
        .layout_id = layout, .host_readable = host_readable, .alignment = kAlignment, .over_read = kOverRead};
}

}  // namespace

CpuDevice::CpuDevice(Cores& cores, const CpuOptions& options)
    : cores_(cores), options_(options), simd_(simd::kernels(options.simd)) {
    const bool packed = options.repack && !options.exact;
    const PageSource pages{cores, options.node};
    kernels_ = kernel_list({.simd = &simd_, .exact = options.exact, .packed = packed});
    if (packed) {
        buffer_types_.push_back(std::make_unique<CpuBufferType>(
            options.name, pages, host_memory(kPackedLayout, false), packed_bytes));
    }
    buffer_types_.push_back(std::make_unique<CpuBufferType>(
        options.name, pages, host_memory(device::kRowLayout, true), row_layout_bytes));
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
    description_.memory = options_.node < 0 ? "host" : fmt::format("node{}", options_.node);
    description_.memory_bytes = static_cast<int64_t>(free_memory(cores_, options_.node));
    description_.workers = workers;
    description_.cores = cores_text(options_.pins, workers);
    description_.node = options_.node;
    for (const auto& type : buffer_types_) description_.buffer_types.push_back(type->describe());
    for (const Kernel& kernel : kernels_) description_.rows.push_back(kernel.support);
}

std::unique_ptr<device::Program> CpuDevice::compile(const ir::Graph& graph, std::span<const int> layouts) {
    return std::make_unique<CpuProgram>(graph, description_, kernels_, simd_, layouts, group_);
}

void CpuDevice::join(device::Communicator& communicator, int member) {
    ENSURE(group_.group == nullptr && runner_ == nullptr,
           "a device joins one group, before its first stream");
    auto& group = dynamic_cast<collectives::local::LocalGroup&>(communicator);
    group.join(member, cores_, wanted());
    group_ = {.group = &group, .member = member};
    for (const ir::OpId op : meeting_ops()) description_.rows.push_back({.op = op});
}

collectives::local::Wanted CpuDevice::wanted() const {
    return {.workers = description_.workers, .pins = options_.pins};
}

Runner& CpuDevice::runner() {
    if (runner_ != nullptr) return *runner_;
    if (group_.group == nullptr) {
        own_group_ = collectives::local::group_of_one(cores_, wanted());
        runner_ = std::make_unique<Runner>(*own_group_, 0, options_.name);
    } else {
        group_.group->open();
        runner_ = std::make_unique<Runner>(*group_.group, group_.member, options_.name);
    }
    return *runner_;
}

std::unique_ptr<device::Stream> CpuDevice::make_stream() {
    return std::make_unique<CpuStream>(runner(), description_.name);
}

std::unique_ptr<device::Event> CpuDevice::make_event() { return std::make_unique<CpuEvent>(); }

std::optional<device::ProductSpeed> CpuDevice::measure_product(const ir::TensorDesc& weight, int layout) {
    device::BufferType& type = buffer_type(layout);
    const ir::TensorDesc x{ir::DType::F32, {1, weight.shape.last()}};
    const device::Support support =
        supports({.op = ir::op_id_of<ir::Matmul>(),
                  .inputs = {{ir::ValueKind::activation, x},
                             {ir::ValueKind::weight, weight, type.describe().layout_id}}});
    if (!support) return std::nullopt;
    const Kernel& kernel = kernels_[static_cast<size_t>(support.row)];
    if (kernel.shared != nullptr) return std::nullopt;
    const auto stream = make_stream();
    return cpu::measure_product({kernel, simd_, type, row_buffer_type(), weight}, runner(), *stream);
}

std::vector<device::RunTimes> CpuDevice::run_times() const {
    return {runner_ == nullptr ? device::RunTimes{} : runner_->run_times()};
}

}  // namespace plait::backends::cpu
