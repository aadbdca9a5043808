#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace plait {

// Taking apart the small text files of the system. The results point into the argument. Pure functions.

// The parts between separators, empty ones included; one part if there is no separator.
std::vector<std::string_view> split(std::string_view text, char separator);

// The parts between blanks and line ends, none of them empty.
std::vector<std::string_view> words(std::string_view text);

std::string_view trim(std::string_view text);

// The whole text as a decimal number; nothing if there is anything else in it or it does not fit.
template <typename T>
std::optional<T> parse_number(std::string_view text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// The number that follows `label` as a word of its own at the start of a line ("MemTotal:  123 kB").
std::optional<uint64_t> labelled_number(std::string_view text, std::string_view label);

}  // namespace plait
