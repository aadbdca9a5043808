#include "plait/tools/support_table.h"

#include <fmt/format.h>

#include "plait/ir/ops/list.h"

namespace plait::tools {
namespace {

std::string names_of(device::FormatSet formats) {
    std::string names;
    for (const dtype::DTypeInfo& format : dtype::table()) {
        if ((formats & device::format_bit(format.type)) == 0) continue;
        if (!names.empty()) names += ", ";
        names += format.name;
    }
    return names.empty() ? "-" : names;
}

bool reads_cache(const device::SupportRow& row) { return row.op == ir::op_id_of<ir::Attention>(); }

// Ops without weights or caches take activations only, which are F32.
bool takes_formats(const device::SupportRow& row) {
    return (row.weight_formats & ~device::formats(ir::DType::F32)) != 0 || reads_cache(row);
}

}  // namespace

std::string support_table(const device::DeviceDescription& device) {
    std::string text =
        "| op | weights | in layout | a row's values a multiple of | caches |\n|---|---|---|---|---|\n";
    for (const device::SupportRow& row : device.rows) {
        if (!takes_formats(row)) continue;
        text += fmt::format("| {} | {} | {} | {} | {} |\n", ir::op_name(row.op), names_of(row.weight_formats),
                            row.weight_layout, row.weight_multiple,
                            reads_cache(row) ? names_of(row.state_formats) : "-");
    }
    return text;
}

}  // namespace plait::tools
