#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "plait/gguf/file.h"

namespace plait::gguf::test {

// Writes a model again as `parts` files in `folder`, named PREFIX-00001-of-0000N.gguf, and returns their
// paths. The first has all metadata, and the tensors are dealt out in their order, as evenly as they can be;
// with fewer tensors than parts, the last parts have none.
std::vector<std::filesystem::path> write_parts(const File& model, const std::filesystem::path& folder,
                                               const std::string& prefix, int parts);

}  // namespace plait::gguf::test
