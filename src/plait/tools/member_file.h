#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plait/engine/options.h"

namespace plait::tools {

// Reads descriptions of devices from JSON: a list of objects
//
//     {"kind": "cpu", "memory_bytes": "64G", "name": "left", "threads": 16, "memory": "board"}
//
// or what `plait devices --json` prints, whose "devices" is such a list. Kind and memory are needed; the kind
// is cpu or sim, or any other with "like" naming one of them, from which kernels and layouts are taken. Sizes
// are numbers or texts such as "2G". A name that is not given is the kind with a number; threads are 1;
// memory, the name of the memory that devices with equal names have together, is "host" for what is like cpu
// and the device's own name for the rest. Throws Error, one sentence with `source` and the member's number,
// for anything else.
std::vector<engine::DescribedDevice> parse_members(std::string_view json, const std::string& source);

}  // namespace plait::tools
