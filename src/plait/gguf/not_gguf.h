#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace plait::gguf {

// For a file that does not start with GGUF's magic: a sentence with what it seems to be, judging by its first
// bytes, and what to do about it. Thread-safe.
std::string not_gguf(std::span<const std::byte> bytes);

}  // namespace plait::gguf
