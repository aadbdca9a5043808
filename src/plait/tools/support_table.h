#pragma once

#include <string>

#include "plait/device/describe.h"

namespace plait::tools {

// What a device's kernels take, as a table in Markdown: for every op that reads weights or caches a line for
// each kernel, best first, as planning chooses them. docs/support.md is this of the cpu device.
std::string support_table(const device::DeviceDescription& device);

}  // namespace plait::tools
