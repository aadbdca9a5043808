#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace plait::text {

// How SentencePiece vocabularies write text: as it is, with U+2581 for each space (Kudo, Richardson 2018),
// and single bytes as <0x00> to <0xFF>. Both functions are pure.

// Appends `text` with a space for each U+2581.
void append_with_spaces(std::string_view text, std::string& bytes);

// The byte that a token of this text stands for, if it is written as one. Digits may be of either case.
std::optional<char> spelled_byte(std::string_view text);

}  // namespace plait::text
