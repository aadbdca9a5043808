#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace plait::gguf {

// Walks forward through the bytes of an untrusted file; every step checks what is left first and throws
// Error, with the file, the thing being read and the byte offset, when it does not suffice. Holds no memory
// but the file's name.
class Cursor {
  public:
    Cursor(std::span<const std::byte> bytes, std::string source)
        : bytes_(bytes), source_(std::move(source)) {}

    uint64_t offset() const { return offset_; }
    uint64_t remaining() const { return bytes_.size() - offset_; }
    const std::byte* here() const { return bytes_.data() + offset_; }

    // What the following steps read, for messages: "tensor 3 of 12", and its name once known.
    void enter(std::string_view kind, uint64_t index, uint64_t count);
    void set_name(std::string_view name) { name_ = name; }
    // For checks after everything was read: fail() speaks of the thing whose name, read by string(), this is.
    void revisit(std::string_view kind, std::string_view name);

    // `what` completes "the ... needs 8 bytes".
    template <class T>
    T number(std::string_view what) {
        T value;
        std::memcpy(&value, take(sizeof value, what), sizeof value);
        return value;
    }
    std::string_view string(std::string_view what);
    // Skips `count` elements of `size` bytes and returns the first.
    const std::byte* elements(uint64_t count, uint64_t size, std::string_view what);

    // Throws Error: "<file>: <thing> at byte <start of the thing>: <problem>".
    [[noreturn]] void fail(std::string_view problem) const;

  private:
    const std::byte* take(uint64_t bytes, std::string_view what);

    std::span<const std::byte> bytes_;
    std::string source_;
    uint64_t offset_ = 0;
    std::string_view kind_ = "header";
    std::string_view name_;
    uint64_t index_ = 0;
    uint64_t count_ = 0;  // 0: the thing is one of its kind
    uint64_t start_ = 0;
};

}  // namespace plait::gguf
