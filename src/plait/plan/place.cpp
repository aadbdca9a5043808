#include "plait/plan/place.h"

#include <fmt/format.h>

#include <string>

#include "plait/base/error.h"

namespace plait::plan {
namespace {

bool needs_no_kernel(const ir::Node& node) {
    return ir::op_is_view(node.op) || ir::op_is_host_action(node.op);
}

// Where a node without a kernel goes: to its input's maker or, where it takes none, to the node before it. -1
// for nodes that need a kernel, and where there is nobody to follow.
int place_beside(const ir::Graph& graph, const ir::Node& node, std::span<const int> placed) {
    if (!needs_no_kernel(node)) return -1;
    if (node.inputs.empty()) return placed.empty() ? 0 : placed.back();
    const ir::NodeId maker = graph.value(node.inputs[0]).producer;
    return maker < 0 ? -1 : placed[static_cast<size_t>(maker)];
}

// Whether the device runs the node with its weights in any one of its layouts; the last reason otherwise.
device::Support supports_in_some_layout(const ir::Graph& graph, const ir::Node& node,
                                        const device::DeviceDescription& device) {
    device::Support support;
    for (const auto& type : device.buffer_types) {
        support = device::supports(device,
                                   device::describe_op(graph, node, [&](int32_t) { return type.layout_id; }));
        if (support) break;
    }
    return support;
}

int place_node(const ir::Graph& graph, const ir::Node& node,
               std::span<const device::DeviceDescription* const> devices) {
    std::string reasons;
    for (size_t i = 0; i < devices.size(); ++i) {
        const device::Support support = supports_in_some_layout(graph, node, *devices[i]);
        if (support) return static_cast<int>(i);
        reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", devices[i]->name, support.why);
    }
    throw Error(fmt::format("no device can run {} ({})", node.name, reasons));
}

}  // namespace

std::vector<int> place(const ir::Graph& graph, std::span<const device::DeviceDescription* const> devices) {
    std::vector<int> placed;
    for (const ir::Node& node : graph.nodes()) {
        const int beside = place_beside(graph, node, placed);
        placed.push_back(beside >= 0 ? beside : place_node(graph, node, devices));
    }
    return placed;
}

}  // namespace plait::plan
