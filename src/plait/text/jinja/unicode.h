#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Texts as Python sees them: rows of characters (code points), though stored as UTF-8. A byte that is part of
// no character counts as one and passes through unchanged. All functions are pure and take time that grows
// with the text.
namespace plait::text::jinja {

struct Character {
    char32_t code;           // U+DC80..U+DCFF for a byte that is no character
    std::string_view bytes;  // as it stands in the text
};

// What `text`, which is not empty, begins with.
Character first_character(std::string_view text);
std::vector<std::string_view> characters(std::string_view text);
size_t count_characters(std::string_view text);
// Where the character of this index starts; the text's length if there are fewer.
size_t offset_of_character(std::string_view text, size_t index);
void append_utf8(std::string& text, char32_t code);

// Python's str.isspace and the like, for one character.
bool is_space(char32_t code);
bool is_alphabetic(char32_t code);
bool is_digit(char32_t code);
bool is_upper(char32_t code);
bool is_lower(char32_t code);
bool is_printable(char32_t code);

std::string to_upper(std::string_view text);
std::string to_lower(std::string_view text);
// The first character as a title has it, the others in lower case.
std::string capitalized(std::string_view text);
// Every letter after something that is no letter as a title has it, the others in lower case.
std::string titled(std::string_view text);

enum class Side : uint8_t { both, left, right };
// Without white space at its ends.
std::string_view strip(std::string_view text, Side side = Side::both);
// Without characters that `unwanted` has.
std::string_view strip(std::string_view text, std::string_view unwanted, Side side = Side::both);

// Where `part` starts first (from `start` on) or last; npos: nowhere. Linear, whatever the texts.
size_t find_first(std::string_view text, std::string_view part, size_t start = 0);
size_t find_last(std::string_view text, std::string_view part);

}  // namespace plait::text::jinja
