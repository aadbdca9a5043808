#pragma once

#include <cstdint>
#include <string>

// The types that tensors of a GGUF file may have, for those that Plait has no format for.
namespace plait::gguf {

// The name that ggml gives or once gave to a tensor type (`ggml_type` in ggml.h), or "type 99" for a number
// that it never gave.
std::string type_name(uint32_t type_id);

// Why Plait cannot use a tensor of a type without a format, and what to do: "its type is Q4_2 (number 4),
// ...".
std::string unsupported_type(uint32_t type_id);

}  // namespace plait::gguf
