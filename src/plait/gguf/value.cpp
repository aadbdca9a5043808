#include "plait/gguf/value.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "plait/base/ensure.h"
#include "plait/gguf/scalars.h"

namespace plait::gguf {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF's bytes are read as they lie");

struct TypeInfo {
    const char* name;
    const char* array_name;
    size_t bytes;
};

constexpr std::array<TypeInfo, kValueTypes> kTypes = {{
    {"uint8", "array of uint8", 1},
    {"int8", "array of int8", 1},
    {"uint16", "array of uint16", 2},
    {"int16", "array of int16", 2},
    {"uint32", "array of uint32", 4},
    {"int32", "array of int32", 4},
    {"float32", "array of float32", 4},
    {"bool", "array of bool", 1},
    {"string", "array of string", 0},
    {"array", "array of arrays", 0},
    {"uint64", "array of uint64", 8},
    {"int64", "array of int64", 8},
    {"float64", "array of float64", 8},
}};

const TypeInfo& type_info(ValueType type) { return kTypes[static_cast<uint32_t>(type)]; }

// Files align nothing before the data section.
template <class T>
T load(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

std::string_view load_string(const std::byte* from) {
    return {reinterpret_cast<const char*>(from) + sizeof(uint64_t), load<uint64_t>(from)};
}

using Wide = __int128;  // holds every value of every integer type

std::optional<Wide> load_integer(ValueType type, const std::byte* from) {
    switch (type) {
        case ValueType::UInt8:
            return load<uint8_t>(from);
        case ValueType::Int8:
            return load<int8_t>(from);
        case ValueType::UInt16:
            return load<uint16_t>(from);
        case ValueType::Int16:
            return load<int16_t>(from);
        case ValueType::UInt32:
            return load<uint32_t>(from);
        case ValueType::Int32:
            return load<int32_t>(from);
        case ValueType::UInt64:
            return load<uint64_t>(from);
        case ValueType::Int64:
            return load<int64_t>(from);
        case ValueType::Float32:
        case ValueType::Float64:
        case ValueType::Bool:
        case ValueType::String:
        case ValueType::Array:
            return std::nullopt;
    }
    return std::nullopt;
}

std::optional<double> load_float(ValueType type, const std::byte* from) {
    if (type == ValueType::Float32) return load<float>(from);
    if (type == ValueType::Float64) return load<double>(from);
    return std::nullopt;
}

template <class T>
std::optional<T> convert_integer(ValueType stored, const std::byte* from) {
    const std::optional<Wide> value = load_integer(stored, from);
    if (!value || *value < std::numeric_limits<T>::min() || *value > std::numeric_limits<T>::max())
        return std::nullopt;
    return static_cast<T>(*value);
}

template <class T>
std::optional<T> convert_float(ValueType stored, const std::byte* from) {
    const std::optional<double> value = load_float(stored, from);
    if (!value) return std::nullopt;
    const bool too_large = std::isfinite(*value) && std::abs(*value) > std::numeric_limits<T>::max();
    return too_large ? std::nullopt : std::optional<T>(static_cast<T>(*value));
}

template <class T>
std::optional<T> convert(ValueType stored, const std::byte* from) {
    if constexpr (std::is_same_v<T, std::string_view>)
        return stored == ValueType::String ? std::optional<T>(load_string(from)) : std::nullopt;
    else if constexpr (std::is_same_v<T, bool>)
        return stored == ValueType::Bool ? std::optional<T>(load<uint8_t>(from) != 0) : std::nullopt;
    else if constexpr (std::is_floating_point_v<T>)
        return convert_float<T>(stored, from);
    else
        return convert_integer<T>(stored, from);
}

}  // namespace

const char* name(ValueType type) { return type_info(type).name; }
size_t fixed_bytes(ValueType type) { return type_info(type).bytes; }

std::string_view StringArray::Iterator::operator*() const { return load_string(at_); }

StringArray::Iterator& StringArray::Iterator::operator++() {
    at_ += sizeof(uint64_t) + load<uint64_t>(at_);
    --left_;
    return *this;
}

StringArray::Iterator StringArray::Iterator::operator++(int) {
    const Iterator before = *this;
    ++*this;
    return before;
}

template <class T>
T Array<T>::operator[](size_t index) const {
    ENSURE(index < count_, "metadata array index");
    return *convert<T>(stored_, data_ + index * fixed_bytes(stored_));
}

template <class T>
std::vector<T> Array<T>::to_vector() const {
    std::vector<T> values(count_);
    for (size_t i = 0; i < count_; ++i) values[i] = (*this)[i];
    return values;
}

ValueType Value::element_type() const {
    ENSURE(type_ == ValueType::Array, name(type_));
    return element_;
}

size_t Value::count() const {
    ENSURE(type_ == ValueType::Array, name(type_));
    return count_;
}

template <class T>
std::optional<T> Value::as() const {
    return convert<T>(type_, data_);
}

template <class T>
std::optional<Array<T>> Value::array_as() const {
    if (type_ != ValueType::Array) return std::nullopt;
    const size_t stride = fixed_bytes(element_);
    if (stride == 0) return std::nullopt;
    for (size_t i = 0; i < count_; ++i)
        if (!convert<T>(element_, data_ + i * stride)) return std::nullopt;
    return Array<T>(data_, count_, element_);
}

std::optional<StringArray> Value::strings() const {
    if (type_ != ValueType::Array || element_ != ValueType::String) return std::nullopt;
    return StringArray(data_, count_);
}

std::string_view Value::type_name() const {
    return type_ == ValueType::Array ? type_info(element_).array_name : type_info(type_).name;
}

std::span<const std::byte> Value::stored() const {
    const bool array = type_ == ValueType::Array;
    const size_t count = array ? count_ : 1;
    const size_t size = fixed_bytes(array ? element_ : type_);
    if (size > 0) return {data_, count * size};
    size_t bytes = 0;
    for (const std::string_view text : StringArray(data_, count)) bytes += sizeof(uint64_t) + text.size();
    return {data_, bytes};
}

template <class T>
ValueType value_type_of() {
    if constexpr (std::is_same_v<T, std::string_view>) return ValueType::String;
    if constexpr (std::is_same_v<T, bool>) return ValueType::Bool;
    if constexpr (std::is_same_v<T, float>) return ValueType::Float32;
    if constexpr (std::is_same_v<T, double>) return ValueType::Float64;
    if constexpr (std::is_same_v<T, uint8_t>) return ValueType::UInt8;
    if constexpr (std::is_same_v<T, int8_t>) return ValueType::Int8;
    if constexpr (std::is_same_v<T, uint16_t>) return ValueType::UInt16;
    if constexpr (std::is_same_v<T, int16_t>) return ValueType::Int16;
    if constexpr (std::is_same_v<T, uint32_t>) return ValueType::UInt32;
    if constexpr (std::is_same_v<T, int32_t>) return ValueType::Int32;
    if constexpr (std::is_same_v<T, uint64_t>) return ValueType::UInt64;
    if constexpr (std::is_same_v<T, int64_t>) return ValueType::Int64;
}

#define PLAIT_GGUF_SCALAR(T)                                     \
    template std::optional<T> Value::as<T>() const;              \
    template std::optional<Array<T>> Value::array_as<T>() const; \
    template class Array<T>;                                     \
    template ValueType value_type_of<T>();

PLAIT_GGUF_FOR_SCALARS(PLAIT_GGUF_SCALAR)
#undef PLAIT_GGUF_SCALAR

template std::optional<std::string_view> Value::as<std::string_view>() const;
template ValueType value_type_of<std::string_view>();

}  // namespace plait::gguf
