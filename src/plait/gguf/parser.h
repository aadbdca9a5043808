#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "plait/gguf/file.h"

namespace plait::gguf {

// Reads and checks a whole GGUF file, as File promises. `source` names it in messages.
Contents parse_contents(std::span<const std::byte> bytes, const std::string& source);

}  // namespace plait::gguf
