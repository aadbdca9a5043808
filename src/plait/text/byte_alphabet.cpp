#include "plait/text/byte_alphabet.h"

#include <array>
#include <cstdint>

namespace plait::text {
namespace {

constexpr int kCodePoints = 0x144;
constexpr int16_t kNoByte = -1;

constexpr bool written_as_itself(int byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
}

constexpr std::array<int16_t, kCodePoints> make_bytes() {
    std::array<int16_t, kCodePoints> bytes{};
    bytes.fill(kNoByte);
    int next = 0x100;
    for (int byte = 0; byte < 256; ++byte)
        bytes[written_as_itself(byte) ? byte : next++] = static_cast<int16_t>(byte);
    return bytes;
}

constexpr auto kByteOf = make_bytes();
static_assert(kByteOf[kCodePoints - 1] == 0xAD, "the last byte without a printable form");

// Reads a character of one or two UTF-8 bytes at `at` and moves past it; kCodePoints for any other.
int next_code_point(std::string_view text, size_t& at) {
    const auto first = static_cast<uint8_t>(text[at++]);
    if (first < 0x80) return first;
    if (first < 0xC2 || first > 0xDF || at == text.size()) return kCodePoints;
    const auto second = static_cast<uint8_t>(text[at++]);
    return (second & 0xC0) == 0x80 ? (first & 0x1F) << 6 | (second & 0x3F) : kCodePoints;
}

}  // namespace

bool append_alphabet_bytes(std::string_view text, std::string& bytes) {
    const size_t before = bytes.size();
    for (size_t at = 0; at < text.size();) {
        const int code_point = next_code_point(text, at);
        if (code_point >= kCodePoints || kByteOf[code_point] == kNoByte) {
            bytes.resize(before);
            return false;
        }
        bytes.push_back(static_cast<char>(kByteOf[code_point]));
    }
    return true;
}

}  // namespace plait::text
