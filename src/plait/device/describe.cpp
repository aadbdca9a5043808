#include "plait/device/describe.h"

#include <fmt/format.h>

#include "plait/base/ensure.h"
#include "plait/base/error.h"

namespace plait::device {
namespace {

// Empty when the row fits, otherwise what does not.
std::string misfit(const SupportRow& row, const OpDesc& op) {
    for (const OperandDesc& input : op.inputs) {
        const bool is_weight = input.kind == ir::ValueKind::weight;
        const bool is_state = input.kind == ir::ValueKind::state;
        const FormatSet accepted = is_weight ? row.weight_formats : row.state_formats;
        if ((is_weight || is_state) && (accepted & format_bit(input.desc.type)) == 0) {
            return fmt::format("no kernel takes a {} in {}", is_weight ? "weight" : "cache",
                               dtype::info(input.desc.type).name);
        }
        if (!is_weight) continue;
        if (input.layout != row.weight_layout)
            return fmt::format("no kernel takes the layout {}", input.layout);
        if (input.desc.shape.last() % row.weight_multiple != 0) {
            return fmt::format("rows of {} values are not a multiple of {}", input.desc.shape.last(),
                               row.weight_multiple);
        }
    }
    return {};
}

}  // namespace

FormatSet weight_formats() {
    FormatSet formats = 0;
    for (const dtype::DTypeInfo& format : dtype::table())
        if (format.type != ir::DType::I32) formats |= format_bit(format.type);
    return formats;
}

FormatSet cache_formats() {
    FormatSet formats = 0;
    for (const dtype::DTypeInfo& format : dtype::table())
        if (dtype::is_cache_format(format.type)) formats |= format_bit(format.type);
    return formats;
}

int DeviceDescription::find_layout(const std::string& layout_id) const {
    for (size_t i = 0; i < buffer_types.size(); ++i) {
        if (buffer_types[i].layout_id == layout_id) return static_cast<int>(i);
    }
    return -1;
}

Support supports(const DeviceDescription& device, const OpDesc& op) {
    std::string why = "there is no kernel for it";
    for (size_t i = 0; i < device.rows.size(); ++i) {
        if (device.rows[i].op != op.op) continue;
        why = misfit(device.rows[i], op);
        if (why.empty()) return {static_cast<int>(i), {}};
    }
    return {-1, fmt::format("{}: {}", ir::op_name(op.op), why)};
}

int supporting_row(const DeviceDescription& device, const ir::Graph& graph, const ir::Node& node,
                   std::span<const int> layouts) {
    const auto layout_of = [&](int32_t weight) {
        const int type = layouts[static_cast<size_t>(weight)];
        ENSURE(type >= 0, "a weight that a graph reads is stored");
        return device.buffer_types[static_cast<size_t>(type)].layout_id;
    };
    const Support support = supports(device, describe_op(graph, node, layout_of));
    if (!support) throw Error(fmt::format("{} cannot run {}: {}", device.name, node.name, support.why));
    return support.row;
}

}  // namespace plait::device
