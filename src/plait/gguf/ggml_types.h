#pragma once

#include <cstdint>
#include <string_view>

namespace plait::gguf {

// The name ggml gives a tensor type (`ggml_type` in ggml.h), for messages about types Plait has no format
// for; empty when ggml does not know the number either.
std::string_view ggml_type_name(uint32_t gguf_id);

}  // namespace plait::gguf
