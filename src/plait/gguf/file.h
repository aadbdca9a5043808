#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/base/mapped_file.h"
#include "plait/dtype/dtype.h"
#include "plait/gguf/format.h"
#include "plait/gguf/metadata.h"

namespace plait::gguf {

// One tensor of a file; name and data lie in the file's bytes.
struct Tensor {
    std::string_view name;
    dtype::DType type;
    int rank;                                  // 1 to kMaxDimensions
    std::array<int64_t, kMaxDimensions> dims;  // the first `rank` count, each at least 1
    std::span<const std::byte> data;           // whole rows of whole blocks, at a multiple of the alignment

    // Innermost dimension last: {rows, cols}. (The file stores the reverse; this is where it is turned
    // round.)
    std::span<const int64_t> shape() const { return {dims.data(), static_cast<size_t>(rank)}; }
    int64_t elements() const;
};

// What a file says, in the file's order.
struct Contents {
    uint32_t version;
    uint64_t alignment;    // of every tensor's data
    uint64_t data_offset;  // where the data section starts; may lie past the end of a file without tensors
    Metadata metadata;
    std::vector<Tensor> tensors;
    std::vector<uint32_t> by_name;  // positions in tensors, sorted by name
};

// A GGUF file, opened and checked: everything it offers afterwards is consistent and lies inside the file.
// The file is untrusted; any lie in it is an Error naming file, key or tensor, and byte offset. Opening
// touches only the part before the tensor data, allocates less than four times that part and takes n log n
// time in it. Moving keeps all views valid. Thread-safe to read.
class File {
  public:
    // Maps the file for the life of the object.
    static File open(const std::filesystem::path& path);
    // Reads a file lying in memory, which must outlive the object; `source` names it in messages.
    static File parse(std::span<const std::byte> bytes, std::string source);

    const std::string& source() const { return source_; }
    uint64_t file_bytes() const { return bytes_.size(); }
    uint32_t version() const { return contents_.version; }
    uint64_t alignment() const { return contents_.alignment; }
    uint64_t data_offset() const { return contents_.data_offset; }

    const Metadata& metadata() const { return contents_.metadata; }

    std::span<const Tensor> tensors() const { return contents_.tensors; }
    const Tensor* find_tensor(std::string_view name) const;  // nullptr when missing
    uint64_t offset_of(const Tensor& tensor) const;  // of a tensor of this file; bytes from the file's start

  private:
    File(std::span<const std::byte> bytes, std::string source);

    std::span<const std::byte> bytes_;
    std::string source_;
    Contents contents_;
    std::optional<MappedFile> mapping_;  // absent when the caller owns the bytes
};

}  // namespace plait::gguf
