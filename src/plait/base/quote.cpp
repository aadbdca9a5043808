#include "plait/base/quote.h"

#include <cstdint>

#include "plait/base/utf8.h"

namespace plait {
namespace {

bool is_control(std::string_view character) {
    const auto lead = static_cast<uint8_t>(character[0]);
    const bool c1 = lead == 0xc2 && static_cast<uint8_t>(character[1]) < 0xa0;  // U+0080 to U+009F
    return lead < 0x20 || lead == 0x7f || c1;
}

// Bytes of the printable character at the front of `text`; 0 when there is none.
size_t printable_length(std::string_view text) {
    const Utf8Sequence first = first_sequence(text);
    if (first.kind != Utf8Sequence::Kind::Complete) return 0;
    return is_control(text.substr(0, first.bytes)) ? 0 : first.bytes;
}

void append_escape(std::string& out, char c) {
    constexpr char kDigits[] = "0123456789abcdef";
    const auto byte = static_cast<uint8_t>(c);
    out += "\\x";
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
}

}  // namespace

std::string quote(std::string_view text, size_t max_bytes) {
    std::string out = "'";
    while (!text.empty()) {
        if (out.size() > max_bytes) return out + "...'";
        const size_t length = printable_length(text);
        if (length == 0)
            append_escape(out, text.front());
        else
            out += text.substr(0, length);
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return out + "'";
}

}  // namespace plait
