#include "plait/text/sentencepiece_spelling.h"

#include <charconv>
#include <cstddef>
#include <cstdint>

namespace plait::text {
namespace {

constexpr std::string_view kSpace = "\u2581";
constexpr std::string_view kByteBegin = "<0x", kByteEnd = ">";
constexpr size_t kByteDigits = 2;

}  // namespace

void append_with_spaces(std::string_view text, std::string& bytes) {
    size_t done = 0;
    for (size_t at = text.find(kSpace); at != std::string_view::npos; at = text.find(kSpace, done)) {
        bytes.append(text, done, at - done).push_back(' ');
        done = at + kSpace.size();
    }
    bytes.append(text, done);
}

std::optional<char> spelled_byte(std::string_view text) {
    if (text.size() != kByteBegin.size() + kByteDigits + kByteEnd.size()) return std::nullopt;
    if (!text.starts_with(kByteBegin) || !text.ends_with(kByteEnd)) return std::nullopt;
    const char* begin = text.data() + kByteBegin.size();
    uint8_t byte = 0;
    const auto [end, error] = std::from_chars(begin, begin + kByteDigits, byte, 16);
    if (error != std::errc() || end != begin + kByteDigits) return std::nullopt;
    return static_cast<char>(byte);
}

}  // namespace plait::text
