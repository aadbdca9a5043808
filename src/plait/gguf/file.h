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

// One tensor of a model; name and data lie in the bytes of its part.
struct Tensor {
    std::string_view name;
    uint32_t type_id = 0;                           // GGUF's number (ggml_type)
    std::optional<dtype::DType> type;               // nothing: Plait has no format for it; see ggml_types.h
    uint32_t part = 0;                              // place of its file in File::parts()
    int rank = 0;                                   // 1 to kMaxDimensions
    std::array<int64_t, kMaxDimensions> dims = {};  // the first `rank` count, each at least 1
    // Whole rows of whole blocks, at a multiple of the alignment; of a type without a format, only where they
    // start.
    std::span<const std::byte> data;

    // Innermost dimension last: {rows, cols}. (The file stores the reverse; this is where it is turned
    // round.)
    std::span<const int64_t> shape() const { return {dims.data(), static_cast<size_t>(rank)}; }
    int64_t elements() const;
};

// One of the files of a model. Most models have one.
struct Part {
    std::string source;                // names it in messages
    std::span<const std::byte> bytes;  // all of it
    uint32_t version;
    uint64_t alignment;    // of every tensor's data
    uint64_t data_offset;  // where the data section starts; may lie past the end of a file without tensors
    Metadata metadata;
};

// A model in GGUF, opened and checked: everything it offers afterwards is consistent and lies inside its
// files. They are untrusted; any lie in them is an Error naming file, key or tensor, and byte offset. Opening
// touches only the parts before the tensor data, allocates less than four times those and takes n log n time
// in them. Moving keeps all views valid. Thread-safe to read.
//
// A model may be split into files named PREFIX-00001-of-00003.gguf and so on in one folder (the keys split.*
// in each; llama.cpp's tools write such). Then its metadata is the first part's and its tensors are those of
// all parts, in their order.
class File {
  public:
    // Maps the file for the life of the object; of a split model, any part, and all the others with it.
    static File open(const std::filesystem::path& path);
    // Reads a file lying in memory, which must outlive the object; `source` names it in messages. A part of a
    // split model is refused: nobody knows where the others are.
    static File parse(std::span<const std::byte> bytes, std::string source);

    std::span<const Part> parts() const { return parts_; }  // at least one
    // The first part's, which speaks for the model.
    const std::string& source() const { return parts_.front().source; }
    const Metadata& metadata() const { return parts_.front().metadata; }
    uint64_t file_bytes() const;  // of all parts
    // By part, of the files when they were opened; empty when the caller owns the bytes.
    std::vector<FileIdentity> identities() const;

    std::span<const Tensor> tensors() const { return tensors_; }
    const Tensor* find_tensor(std::string_view name) const;  // nullptr when missing
    const Part& part_of(const Tensor& tensor) const { return parts_[tensor.part]; }
    uint64_t offset_of(const Tensor& tensor) const;  // bytes from the start of its part
    // Lets go of memory that holds the tensor's data, until somebody reads it again. Of a file that is not
    // mapped: nothing.
    void forget(const Tensor& tensor) const;

  private:
    struct Opened;

    File() = default;
    void add(Opened opened);
    void index_tensors();
    [[noreturn]] void refuse_twin(const Tensor& tensor, const Tensor& before) const;

    std::vector<MappedFile> mappings_;  // none when the caller owns the bytes
    std::vector<Part> parts_;
    std::vector<Tensor> tensors_;
    std::vector<uint32_t> by_name_;  // positions in tensors_, sorted by name
};

}  // namespace plait::gguf
