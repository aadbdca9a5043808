#include "plait/plan/residency.h"

#include <fmt/format.h>

#include <string>

#include "plait/base/error.h"
#include "plait/plan/place.h"

namespace plait::plan {
namespace {

struct Reader {
    const ir::Graph* graph;
    const ir::Node* node;
};

std::vector<std::vector<Reader>> readers_by_weight(std::span<const ir::Graph* const> graphs,
                                                   size_t weight_count) {
    std::vector<std::vector<Reader>> readers(weight_count);
    for (const ir::Graph* graph : graphs) {
        for (const ir::Node& node : graph->nodes()) {
            for (ir::ValueId input : node.inputs) {
                const ir::Value& value = graph->value(input);
                if (value.kind != ir::ValueKind::weight) continue;
                readers[static_cast<size_t>(value.index)].push_back({graph, &node});
            }
        }
    }
    return readers;
}

// Empty when every reader takes the layout for all its weights; otherwise the first refusal.
std::string first_refusal(std::span<const Reader> readers, const std::string& layout,
                          const device::DeviceDescription& device) {
    for (const Reader& reader : readers) {
        const auto op = device::describe_op(*reader.graph, *reader.node, [&](int32_t) { return layout; });
        const device::Support support = device::supports(device, op);
        if (!support) return fmt::format("{}: {}", reader.node->name, support.why);
    }
    return {};
}

int choose_for(std::span<const Reader> readers, const device::DeviceDescription& device) {
    if (readers.empty()) return -1;
    std::string refusal;
    for (size_t i = 0; i < device.buffer_types.size(); ++i) {
        refusal = first_refusal(readers, device.buffer_types[i].layout_id, device);
        if (refusal.empty()) return static_cast<int>(i);
    }
    throw Error(fmt::format("{} cannot run this model: {}", device.name, refusal));
}

}  // namespace

std::vector<int> choose_residency(std::span<const ir::Graph* const> graphs, size_t weight_count,
                                  const device::DeviceDescription& device) {
    std::vector<int> choice;
    for (const auto& readers : readers_by_weight(graphs, weight_count)) {
        choice.push_back(choose_for(readers, device));
    }
    const device::DeviceDescription* const devices[] = {&device};
    for (const ir::Graph* graph : graphs) place(*graph, devices);  // nodes without weights
    return choice;
}

}  // namespace plait::plan
