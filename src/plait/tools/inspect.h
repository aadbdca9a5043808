#pragma once

#include <string>

#include "plait/gguf/file.h"

// What a model says about itself: header, parts if there are several, metadata, totals by type and, if
// wanted, every tensor. Strings are printed so that they cannot spoil a terminal, long ones and long arrays
// cut short with their count. Pure functions.
namespace plait::tools {

struct InspectOptions {
    bool tensors = false;
};

std::string inspect_text(const gguf::File& file, const InspectOptions& options);

// {"file", "version", "alignment", "data_offset" (these of the first part), "file_bytes", "tensor_count",
// "parameters",
//  "parts": [{"file", "version", "alignment", "data_offset", "file_bytes", "tensor_count"}],
//  "metadata": {key: {"type", "value"} or, for arrays, {"type", "count", "first": [at most 8]}},
//  "types": {name: {"tensors", "parameters", "bytes"}},
//  "tensors": [{"name", "type", "shape" (innermost last), "part" (from 1), "offset" in it, "bytes"}] if
//  wanted}
// Bytes are null where Plait has no format for the type.
// Bytes that are not UTF-8 become U+FFFD, numbers JSON lacks (NaN, infinity) null.
std::string inspect_json(const gguf::File& file, const InspectOptions& options);

}  // namespace plait::tools
