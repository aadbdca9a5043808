#pragma once

#include "plait/device/describe.h"

// Devices for the tests of planning, as descriptions: planning sees nothing else of them.
namespace plait::plan {

inline device::DeviceDescription device_with(std::string name, std::vector<std::string> layouts,
                                             std::vector<device::SupportRow> rows) {
    device::DeviceDescription description{.name = std::move(name), .kind = "test"};
    for (std::string& layout : layouts) description.buffer_types.push_back({.layout_id = std::move(layout)});
    description.rows = std::move(rows);
    return description;
}

template <class OpType>
device::SupportRow row_of(device::FormatSet weights, std::string layout = device::kRowLayout) {
    return {.op = ir::op_id_of<OpType>(), .weight_formats = weights, .weight_layout = std::move(layout)};
}

}  // namespace plait::plan
