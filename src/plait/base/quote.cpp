#include "plait/base/quote.h"

#include <cstdint>

namespace plait {
namespace {

// Bytes of the printable UTF-8 character at the front of `text`; 0 when there is none: a stray byte, an
// overlong or cut sequence, a surrogate, or a control character (C0, DEL, C1).
size_t printable_length(std::string_view text) {
    const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
    const uint8_t lead = byte(0);
    if (lead < 0x80) return lead >= 0x20 && lead != 0x7f ? 1 : 0;
    const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || length > text.size()) return 0;
    uint32_t code = lead & (0x7f >> length);
    for (size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return 0;
        code = code << 6 | (byte(i) & 0x3f);
    }
    constexpr uint32_t kSmallest[] = {0xa0, 0x800, 0x10000};  // by length; below 0xa0 are the C1 controls
    const bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return code < kSmallest[length - 2] || surrogate || code > 0x10ffff ? 0 : length;
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
