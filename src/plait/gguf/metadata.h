#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/gguf/value.h"

namespace plait::gguf {

// The key-value part of a GGUF file. Keys and values lie in the file's bytes.
// Getters that throw do so with Error, naming the file, the key, the expected and the found type. An entry
// that is there with a wrong type is an error even for an optional key: ignoring it would hide a broken file.
// Thread-safe to read.
class Metadata {
  public:
    struct Entry {
        std::string_view key;
        Value value;
    };

    // Throws Error when a key occurs twice. `source` names the file in messages.
    Metadata(std::string source, std::vector<Entry> entries);

    std::span<const Entry> entries() const { return entries_; }  // in the file's order
    const Value* find(std::string_view key) const;               // nullptr when missing
    bool contains(std::string_view key) const { return find(key) != nullptr; }

    // T: bool, float, double, (u)int8_t to (u)int64_t, std::string_view. Writers disagree on integer widths,
    // so any integer type will do as long as the value fits T.
    template <class T>
    T get(std::string_view key) const;
    template <class T>
    std::optional<T> get_optional(std::string_view key) const;
    template <class T>
    T get_or(std::string_view key, T fallback) const {
        return get_optional<T>(key).value_or(fallback);
    }

    // T as above without std::string_view.
    template <class T>
    Array<T> array(std::string_view key) const;
    template <class T>
    std::optional<Array<T>> array_optional(std::string_view key) const;
    StringArray strings(std::string_view key) const;
    std::optional<StringArray> strings_optional(std::string_view key) const;

  private:
    void sort_keys();
    template <class Result, class Convert>
    std::optional<Result> converted(std::string_view key, std::string_view expected, Convert convert) const;
    template <class Result>
    Result required(std::optional<Result> found, std::string_view key, std::string_view expected) const;

    std::string source_;
    std::vector<Entry> entries_;
    std::vector<uint32_t> by_key_;  // positions in entries_, sorted by key
};

}  // namespace plait::gguf
