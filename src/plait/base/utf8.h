#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace plait {

// UTF-8 as the Unicode Standard has it (chapter 3, table 3-7): no overlong forms, no surrogates, nothing
// above U+10FFFF. All functions are pure.

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

struct Utf8Sequence {
    enum class Kind {
        Complete,   // one character
        Truncated,  // the text ends inside what may become a character
        Invalid,    // bytes that no continuation could make a character
    };
    Kind kind;
    // Of the character; or of the "maximal subpart": the longest start of a character, at least one byte,
    // which the Standard (same chapter, "U+FFFD substitution") replaces by one U+FFFD.
    size_t bytes;
};

// What `text`, which is not empty, begins with.
Utf8Sequence first_sequence(std::string_view text);

// Length of the longest prefix that is whole characters.
size_t valid_prefix(std::string_view text);

// Moves all of `pending` to the result, except a character that is still incomplete at its end. Invalid bytes
// become U+FFFD, one for each maximal subpart.
std::string take_characters(std::string& pending);

}  // namespace plait
