#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "plait/gguf/file.h"

namespace plait::gguf {

// What one file holds.
struct ParsedFile {
    Part part;
    std::vector<Tensor> tensors;  // in the file's order; names may repeat
};

// Reads and checks one file, whatever else its model consists of. `source` names it in messages.
ParsedFile parse_file(std::span<const std::byte> bytes, const std::string& source);

}  // namespace plait::gguf
