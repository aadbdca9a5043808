#include "plait/gguf/metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "plait/base/error.h"
#include "plait/base/quote.h"
#include "plait/gguf/scalars.h"

namespace plait::gguf {
namespace {

// What was found, for "expected ..., found ...": the type, and the number where it is one that may not have
// fitted.
std::string description(const Value& value) {
    if (const auto number = value.as<int64_t>()) return fmt::format("{} {}", value.type_name(), *number);
    if (const auto number = value.as<uint64_t>()) return fmt::format("{} {}", value.type_name(), *number);
    if (const auto number = value.as<double>()) return fmt::format("{} {}", value.type_name(), *number);
    return std::string(value.type_name());
}

template <class T>
std::string array_name() {
    return fmt::format("array of {}", name(value_type_of<T>()));
}

}  // namespace

Metadata::Metadata(std::string source, std::vector<Entry> entries)
    : source_(std::move(source)), entries_(std::move(entries)), by_key_(entries_.size()) {
    sort_keys();
}

void Metadata::sort_keys() {
    std::iota(by_key_.begin(), by_key_.end(), uint32_t{0});
    const auto key = [&](uint32_t i) { return entries_[i].key; };
    std::ranges::sort(by_key_, {}, key);
    const auto twice = std::ranges::adjacent_find(by_key_, {}, key);
    if (twice != by_key_.end())
        throw Error(fmt::format("{}: metadata key {} occurs twice", source_, quote(key(*twice))));
}

const Value* Metadata::find(std::string_view key) const {
    const auto at = std::ranges::lower_bound(by_key_, key, {}, [&](uint32_t i) { return entries_[i].key; });
    return at != by_key_.end() && entries_[*at].key == key ? &entries_[*at].value : nullptr;
}

template <class Result, class Convert>
std::optional<Result> Metadata::converted(std::string_view key, std::string_view expected,
                                          Convert convert) const {
    const Value* value = find(key);
    if (!value) return std::nullopt;
    std::optional<Result> result = convert(*value);
    if (!result)
        throw Error(fmt::format("{}: metadata key {}: expected {}, found {}", source_, quote(key), expected,
                                description(*value)));
    return result;
}

template <class Result>
Result Metadata::required(std::optional<Result> found, std::string_view key,
                          std::string_view expected) const {
    if (!found)
        throw Error(
            fmt::format("{}: metadata key {} is missing; expected {}", source_, quote(key), expected));
    return *found;
}

template <class T>
std::optional<T> Metadata::get_optional(std::string_view key) const {
    return converted<T>(key, name(value_type_of<T>()), [](const Value& value) { return value.as<T>(); });
}

template <class T>
T Metadata::get(std::string_view key) const {
    return required(get_optional<T>(key), key, name(value_type_of<T>()));
}

template <class T>
std::optional<Array<T>> Metadata::array_optional(std::string_view key) const {
    return converted<Array<T>>(key, array_name<T>(), [](const Value& value) { return value.array_as<T>(); });
}

template <class T>
Array<T> Metadata::array(std::string_view key) const {
    return required(array_optional<T>(key), key, array_name<T>());
}

std::optional<StringArray> Metadata::strings_optional(std::string_view key) const {
    return converted<StringArray>(key, "array of string", [](const Value& value) { return value.strings(); });
}

StringArray Metadata::strings(std::string_view key) const {
    return required(strings_optional(key), key, "array of string");
}

#define PLAIT_GGUF_SCALAR(T)                                                     \
    template T Metadata::get<T>(std::string_view) const;                         \
    template std::optional<T> Metadata::get_optional<T>(std::string_view) const; \
    template Array<T> Metadata::array<T>(std::string_view) const;                \
    template std::optional<Array<T>> Metadata::array_optional<T>(std::string_view) const;

PLAIT_GGUF_FOR_SCALARS(PLAIT_GGUF_SCALAR)
#undef PLAIT_GGUF_SCALAR

template std::string_view Metadata::get<std::string_view>(std::string_view) const;
template std::optional<std::string_view> Metadata::get_optional<std::string_view>(std::string_view) const;

}  // namespace plait::gguf
