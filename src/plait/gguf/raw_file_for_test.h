#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/gguf/format.h"
#include "plait/gguf/value.h"

// Writes the pieces of a GGUF file without checking anything, so that tests can tell every lie.
namespace plait::gguf::test {

class RawFile {
  public:
    RawFile& header(uint64_t tensors, uint64_t entries, uint32_t version = kNewestVersion) {
        return number(kMagic).number(version).number(tensors).number(entries);
    }

    template <class T>
    RawFile& number(T value) {
        const auto* data = reinterpret_cast<const char*>(&value);
        bytes_.append(data, sizeof value);
        return *this;
    }
    RawFile& text(std::string_view text) {
        bytes_ += text;
        return *this;
    }
    RawFile& string(std::string_view text) { return number<uint64_t>(text.size()).text(text); }

    template <class T>
    RawFile& entry(std::string_view key, ValueType type, T value) {
        return string(key).number(type).number(value);
    }
    RawFile& entry(std::string_view key, std::string_view value) {
        return string(key).number(ValueType::String).string(value);
    }
    // The elements follow by number() or string().
    RawFile& array(std::string_view key, uint32_t element, uint64_t count) {
        return string(key).number(ValueType::Array).number(element).number(count);
    }
    RawFile& array(std::string_view key, ValueType element, uint64_t count) {
        return array(key, static_cast<uint32_t>(element), count);
    }

    struct TensorLie {
        std::string_view name = "w";
        std::vector<uint64_t> dims = {8};  // as the file has them: innermost first
        uint32_t type = 0;                 // F32
        uint64_t offset = 0;
    };
    RawFile& tensor(const TensorLie& lie) {
        string(lie.name).number(static_cast<uint32_t>(lie.dims.size()));
        for (const uint64_t dim : lie.dims) number(dim);
        return number(lie.type).number(lie.offset);
    }
    // The data section: padding to `alignment`, then `count` bytes.
    RawFile& data(size_t count, size_t alignment = kDefaultAlignment) {
        bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment, '\0');
        bytes_.append(count, 'd');
        return *this;
    }

    std::span<const std::byte> bytes() const { return std::as_bytes(std::span(bytes_)); }
    std::string& raw() { return bytes_; }

  private:
    std::string bytes_;
};

}  // namespace plait::gguf::test
