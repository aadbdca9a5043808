#pragma once

#include <string>
#include <string_view>

namespace plait::text {

// Byte-level vocabularies write every byte as one printable character (GPT-2's encoder.py,
// `bytes_to_unicode`): the printable bytes of Latin-1 (21..7E, A1..AC, AE..FF) as themselves, the other 68,
// in order, as U+0100..U+0143; so a space is U+0120.

// Appends the bytes that `text` stands for. False, with `bytes` as it was, if a character is not of that
// alphabet. Pure.
bool append_alphabet_bytes(std::string_view text, std::string& bytes);

}  // namespace plait::text
