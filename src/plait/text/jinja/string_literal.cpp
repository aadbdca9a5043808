#include "plait/text/jinja/string_literal.h"

#include <fmt/format.h>

#include <charconv>

#include "plait/base/quote.h"
#include "plait/text/jinja/fault.h"
#include "plait/text/jinja/unicode.h"

namespace plait::text::jinja {
namespace {

constexpr std::string_view kLetters = "abfnrtv\\'\"";
constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v\\'\"";

size_t hex_digits(char letter) {
    switch (letter) {
        case 'x':
            return 2;
        case 'u':
            return 4;
        case 'U':
            return 8;
        default:
            return 0;
    }
}

// `digits` of this base as a character's number.
char32_t code_of(std::string_view digits, size_t wanted, int base) {
    uint32_t code = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, base);
    const bool whole =
        digits.size() == wanted && error == std::errc() && end == digits.data() + digits.size();
    if (!whole || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
        throw Fault(fmt::format("expected the {} digits of a character after a backslash, found {}", wanted,
                                quote(digits)));
    }
    return code;
}

size_t octal_digits(std::string_view text) {
    size_t count = 0;
    while (count < 3 && count < text.size() && text[count] >= '0' && text[count] <= '7') ++count;
    return count;
}

// Carries out the escape that `text` starts with, behind its backslash; returns its length.
size_t append_escape(std::string& out, std::string_view text) {
    if (text[0] == '\n') return 1;  // a line that goes on
    if (const size_t known = kLetters.find(text[0]); known != kLetters.npos) {
        out += kMeanings[known];
        return 1;
    }
    if (const size_t digits = hex_digits(text[0])) {
        append_utf8(out, code_of(text.substr(1, digits), digits, 16));
        return 1 + digits;
    }
    if (const size_t digits = octal_digits(text)) {
        append_utf8(out, code_of(text.substr(0, digits), digits, 8));
        return digits;
    }
    out += '\\';
    return 0;
}

}  // namespace

std::string unescaped(std::string_view inside) {
    std::string out;
    out.reserve(inside.size());
    while (!inside.empty()) {
        const size_t plain = std::min(inside.find('\\'), inside.size());
        out += inside.substr(0, plain);
        inside.remove_prefix(plain);
        if (inside.size() < 2) break;
        inside.remove_prefix(1);
        inside.remove_prefix(append_escape(out, inside));
    }
    return out;
}

}  // namespace plait::text::jinja
