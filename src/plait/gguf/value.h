#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

// Typed views of metadata values, lying in the bytes of the file they were read from and valid as long as
// those. Everything here was validated when the file was opened, so access cannot leave the file. All types
// are small values; reading them is thread-safe.
namespace plait::gguf {

// GGUF's own numbers (gguf_metadata_value_type).
enum class ValueType : uint32_t {
    UInt8 = 0,
    Int8 = 1,
    UInt16 = 2,
    Int16 = 3,
    UInt32 = 4,
    Int32 = 5,
    Float32 = 6,
    Bool = 7,
    String = 8,
    Array = 9,
    UInt64 = 10,
    Int64 = 11,
    Float64 = 12,
};
inline constexpr uint32_t kValueTypes = 13;

// "uint8", ..., "string", "array".
const char* name(ValueType type);
// Bytes of one value of a fixed-size type; 0 for String and Array.
size_t fixed_bytes(ValueType type);

// An array of strings: a forward range, since strings have no fixed size.
class StringArray {
  public:
    class Iterator {
      public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = std::string_view;
        using difference_type = std::ptrdiff_t;
        using pointer = const std::string_view*;
        using reference = std::string_view;

        Iterator() = default;
        Iterator(const std::byte* at, uint64_t left) : at_(at), left_(left) {}
        std::string_view operator*() const;
        Iterator& operator++();
        Iterator operator++(int);
        bool operator==(const Iterator& other) const { return left_ == other.left_; }

      private:
        const std::byte* at_ = nullptr;
        uint64_t left_ = 0;
    };

    using value_type = std::string_view;
    using const_iterator = Iterator;

    StringArray(const std::byte* data, uint64_t count) : data_(data), count_(count) {}
    size_t size() const { return count_; }
    Iterator begin() const { return {data_, count_}; }
    Iterator end() const { return {nullptr, 0}; }

  private:
    const std::byte* data_;
    uint64_t count_;
};

// An array read as T, whatever width the file stores; see Value::array_as.
// T: bool, float, double, or (u)int8_t to (u)int64_t.
template <class T>
class Array {
  public:
    Array(const std::byte* data, uint64_t count, ValueType stored)
        : data_(data), count_(count), stored_(stored) {}
    size_t size() const { return count_; }
    T operator[](size_t index) const;  // index < size(), ENSUREd
    std::vector<T> to_vector() const;

  private:
    const std::byte* data_;
    uint64_t count_;
    ValueType stored_;
};

class Value {
  public:
    // A scalar or string. `data` holds it in GGUF's bytes.
    Value(ValueType type, const std::byte* data) : data_(data), type_(type) {}
    // An array of `count` elements.
    Value(ValueType element, uint64_t count, const std::byte* data)
        : data_(data), count_(count), type_(ValueType::Array), element_(element) {}

    ValueType type() const { return type_; }
    // Arrays only (ENSUREd).
    ValueType element_type() const;
    size_t count() const;

    // The value as T, or nothing if it has another type or does not fit. Integers of any width convert where
    // the value fits, floating-point numbers convert to each other; nothing else does. T as for Array, or
    // std::string_view.
    template <class T>
    std::optional<T> as() const;
    // The same for arrays, whose every element must fit.
    template <class T>
    std::optional<Array<T>> array_as() const;
    std::optional<StringArray> strings() const;

    // "uint32", "array of string".
    std::string_view type_name() const;
    // As it stands in the file behind its type: a number, a string with its length, an array's elements.
    std::span<const std::byte> stored() const;

  private:
    const std::byte* data_;
    uint64_t count_ = 0;
    ValueType type_;
    ValueType element_ = ValueType::UInt8;
};

// "uint32" for uint32_t, "string" for std::string_view, and so on: T as the file format calls it.
template <class T>
ValueType value_type_of();

}  // namespace plait::gguf
