#pragma once

#include <cstdint>
#include <filesystem>

#include "plait/gguf/file.h"

// Models in several files: the keys split.no, split.count and split.tensors.count and the names
// PREFIX-00001-of-00003.gguf, as llama.cpp's gguf-split and gguf-py write them (tools/gguf-split/ and
// gguf-py/gguf/gguf_writer.py in its repository). Everything here throws Error with a sentence that names the
// part at fault. Thread-safe.
namespace plait::gguf {

inline constexpr uint64_t kMaxParts = 99'999;  // five digits of the name

// Where a part says it belongs.
struct PartPlace {
    uint64_t index = 0;  // from 0
    uint64_t count = 1;  // 1: a model in one file
};

PartPlace read_place(const Part& part);

// Path of the part at `index` of the model that the file at `path` says it is a part of. The name must agree
// with what the file says, and the other file must be there.
std::filesystem::path sibling(const std::filesystem::path& path, const PartPlace& place, uint64_t index);

// Refuses what was read from where `expected` lies and says of itself that it is something else.
void verify_place(const Part& part, const PartPlace& expected);

// Refuses parts of different architectures, or that hold another number of tensors than one of them
// announces.
void verify_together(const File& file);

}  // namespace plait::gguf
