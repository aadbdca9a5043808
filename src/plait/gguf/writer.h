#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "plait/dtype/dtype.h"
#include "plait/gguf/value.h"

namespace plait::gguf {

template <class T>
concept Scalar = std::is_arithmetic_v<T>;  // bool, float, double, and the integers of 1 to 8 bytes

// Builds a GGUF file (version 3, the default alignment). Metadata is given at once; tensors are announced
// first and their data is asked for while writing, in the order announced, so that a file larger than memory
// can be written. What is written can be read by File: keys and names must be unique and within GGUF's
// limits, data as long as announced (all ENSUREd: they come from the program). Used by one thread at a time.
class Writer {
  public:
    // Appends bytes.
    using Sink = std::function<void(std::span<const std::byte>)>;

    struct NewTensor {
        std::string name;
        dtype::DType type;
        std::vector<int64_t> shape;  // innermost last, as everywhere in Plait; the file's order is made here
        // Gives the sink the tensor's dtype::row_bytes(type, elements) bytes, in as many pieces as it likes.
        // Called once per write.
        std::function<void(const Sink&)> data;
    };

    void set(std::string_view key, std::string_view value);
    template <Scalar T>
    void set(std::string_view key, T value);
    template <Scalar T>
    void set_array(std::string_view key, std::span<const T> values);
    void set_strings(std::string_view key, std::span<const std::string> values);
    // A value read from another file, of whatever type.
    void set_copy(std::string_view key, const Value& value);

    void add(NewTensor tensor);

    // To a file that appears only when it is whole; throws Error when it cannot be written.
    void write(const std::filesystem::path& path) const;
    void write(const Sink& out) const;

  private:
    void begin_entry(std::string_view key);
    std::vector<std::byte> head() const;

    std::vector<std::byte> entries_;  // as they stand in the file
    std::set<std::string, std::less<>> keys_;
    std::vector<NewTensor> tensors_;
    std::set<std::string, std::less<>> names_;
};

// Data for NewTensor that lies in memory, and stays there until the file is written.
std::function<void(const Writer::Sink&)> data_in_memory(std::span<const std::byte> bytes);

}  // namespace plait::gguf
