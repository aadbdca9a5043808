#include "plait/base/utf8.h"

#include <cstdint>

#include "plait/base/ensure.h"

namespace plait {
namespace {

// How a character that starts with a given byte goes on: its length, and the range of its second byte (later
// bytes are always 80..BF).
struct Lead {
    size_t bytes;  // 0: no character starts so
    uint8_t second_min = 0x80;
    uint8_t second_max = 0xBF;
};

Lead lead(uint8_t byte) {
    if (byte < 0x80) return {.bytes = 1};
    if (byte < 0xC2) return {.bytes = 0};
    if (byte < 0xE0) return {.bytes = 2};
    if (byte == 0xE0) return {.bytes = 3, .second_min = 0xA0};
    if (byte == 0xED) return {.bytes = 3, .second_max = 0x9F};
    if (byte < 0xF0) return {.bytes = 3};
    if (byte == 0xF0) return {.bytes = 4, .second_min = 0x90};
    if (byte < 0xF4) return {.bytes = 4};
    if (byte == 0xF4) return {.bytes = 4, .second_max = 0x8F};
    return {.bytes = 0};
}

}  // namespace

Utf8Sequence first_sequence(std::string_view text) {
    DEBUG_ENSURE(!text.empty(), "first_sequence of an empty text");
    const Lead start = lead(static_cast<uint8_t>(text[0]));
    if (start.bytes == 0) return {Utf8Sequence::Kind::Invalid, 1};
    for (size_t i = 1; i < start.bytes; ++i) {
        if (i == text.size()) return {Utf8Sequence::Kind::Truncated, i};
        const auto byte = static_cast<uint8_t>(text[i]);
        const bool second = i == 1;
        if (byte < (second ? start.second_min : 0x80) || byte > (second ? start.second_max : 0xBF))
            return {Utf8Sequence::Kind::Invalid, i};
    }
    return {Utf8Sequence::Kind::Complete, start.bytes};
}

size_t valid_prefix(std::string_view text) {
    size_t bytes = 0;
    while (bytes < text.size()) {
        const Utf8Sequence next = first_sequence(text.substr(bytes));
        if (next.kind != Utf8Sequence::Kind::Complete) break;
        bytes += next.bytes;
    }
    return bytes;
}

std::string take_characters(std::string& pending) {
    std::string taken;
    size_t done = 0;
    while (done < pending.size()) {
        const Utf8Sequence next = first_sequence(std::string_view(pending).substr(done));
        if (next.kind == Utf8Sequence::Kind::Truncated) break;
        if (next.kind == Utf8Sequence::Kind::Complete)
            taken.append(pending, done, next.bytes);
        else
            taken += kReplacementCharacter;
        done += next.bytes;
    }
    pending.erase(0, done);
    return taken;
}

}  // namespace plait
