#include "plait/text/jinja/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace plait::text::jinja {
namespace {

utf8proc_category_t category(char32_t code) { return utf8proc_category(static_cast<utf8proc_int32_t>(code)); }

char32_t upper(char32_t code) {
    return static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(code)));
}
char32_t lower(char32_t code) {
    return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code)));
}
char32_t title(char32_t code) {
    return static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(code)));
}

constexpr char32_t kSharpS = 0xDF;  // the one letter in everyday use whose capital is two letters

bool is_cased(char32_t code) {
    const auto kind = category(code);
    return kind == UTF8PROC_CATEGORY_LU || kind == UTF8PROC_CATEGORY_LL || kind == UTF8PROC_CATEGORY_LT;
}

// A byte that is no character stays as it is.
void append(std::string& text, const Character& was, char32_t code) {
    if (code == was.code) {
        text += was.bytes;
    } else {
        append_utf8(text, code);
    }
}

template <class Map>
std::string mapped(std::string_view text, Map map) {
    std::string result;
    result.reserve(text.size());
    while (!text.empty()) {
        const Character next = first_character(text);
        map(result, next);
        text.remove_prefix(next.bytes.size());
    }
    return result;
}

Character last_character(std::string_view text) {
    for (size_t bytes = std::min<size_t>(4, text.size()); bytes > 1; --bytes) {
        const Character last = first_character(text.substr(text.size() - bytes));
        if (last.bytes.size() == bytes) return last;
    }
    return first_character(text.substr(text.size() - 1));
}

template <class Unwanted>
std::string_view strip_if(std::string_view text, Side side, Unwanted unwanted) {
    while (side != Side::right && !text.empty()) {
        const Character first = first_character(text);
        if (!unwanted(first)) break;
        text.remove_prefix(first.bytes.size());
    }
    while (side != Side::left && !text.empty()) {
        const Character last = last_character(text);
        if (!unwanted(last)) break;
        text.remove_suffix(last.bytes.size());
    }
    return text;
}

}  // namespace

Character first_character(std::string_view text) {
    utf8proc_int32_t code = 0;
    const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
    const auto length = utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size()), &code);
    if (length > 0) return {static_cast<char32_t>(code), text.substr(0, static_cast<size_t>(length))};
    return {0xDC00u + bytes[0], text.substr(0, 1)};
}

std::vector<std::string_view> characters(std::string_view text) {
    std::vector<std::string_view> result;
    while (!text.empty()) {
        result.push_back(first_character(text).bytes);
        text.remove_prefix(result.back().size());
    }
    return result;
}

size_t count_characters(std::string_view text) {
    size_t count = 0;
    for (; !text.empty(); ++count) text.remove_prefix(first_character(text).bytes.size());
    return count;
}

size_t offset_of_character(std::string_view text, size_t index) {
    const size_t all = text.size();
    for (; index > 0 && !text.empty(); --index) text.remove_prefix(first_character(text).bytes.size());
    return all - text.size();
}

void append_utf8(std::string& text, char32_t code) {
    utf8proc_uint8_t bytes[4];
    const auto length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code), bytes);
    text.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(length));
}

bool is_space(char32_t code) {
    if ((code >= 0x09 && code <= 0x0D) || (code >= 0x1C && code <= 0x20) || code == 0x85) return true;
    const auto kind = category(code);
    return kind == UTF8PROC_CATEGORY_ZS || kind == UTF8PROC_CATEGORY_ZL || kind == UTF8PROC_CATEGORY_ZP;
}

bool is_alphabetic(char32_t code) {
    const auto kind = category(code);
    return is_cased(code) || kind == UTF8PROC_CATEGORY_LM || kind == UTF8PROC_CATEGORY_LO;
}

bool is_digit(char32_t code) { return category(code) == UTF8PROC_CATEGORY_ND; }
bool is_upper(char32_t code) { return category(code) == UTF8PROC_CATEGORY_LU; }
bool is_lower(char32_t code) { return category(code) == UTF8PROC_CATEGORY_LL; }

bool is_printable(char32_t code) {
    switch (category(code)) {
        case UTF8PROC_CATEGORY_CC:
        case UTF8PROC_CATEGORY_CF:
        case UTF8PROC_CATEGORY_CS:
        case UTF8PROC_CATEGORY_CO:
        case UTF8PROC_CATEGORY_CN:
        case UTF8PROC_CATEGORY_ZL:
        case UTF8PROC_CATEGORY_ZP:
            return false;
        case UTF8PROC_CATEGORY_ZS:
            return code == ' ';
        default:
            return true;
    }
}

std::string to_upper(std::string_view text) {
    return mapped(text, [](std::string& out, const Character& next) {
        if (next.code == kSharpS) {
            out += "SS";
        } else {
            append(out, next, upper(next.code));
        }
    });
}

std::string to_lower(std::string_view text) {
    return mapped(text, [](std::string& out, const Character& next) { append(out, next, lower(next.code)); });
}

std::string capitalized(std::string_view text) {
    bool first = true;
    return mapped(text, [&](std::string& out, const Character& next) {
        if (first && next.code == kSharpS) {
            out += "Ss";
        } else {
            append(out, next, first ? title(next.code) : lower(next.code));
        }
        first = false;
    });
}

std::string titled(std::string_view text) {
    bool inside = false;
    return mapped(text, [&](std::string& out, const Character& next) {
        if (!inside && next.code == kSharpS) {
            out += "Ss";
        } else {
            append(out, next, inside ? lower(next.code) : title(next.code));
        }
        inside = is_cased(next.code);
    });
}

std::string_view strip(std::string_view text, Side side) {
    return strip_if(text, side, [](const Character& c) { return is_space(c.code); });
}

std::string_view strip(std::string_view text, std::string_view unwanted, Side side) {
    const auto list = characters(unwanted);
    const std::set<std::string_view> set(list.begin(), list.end());
    return strip_if(text, side, [&](const Character& c) { return set.contains(c.bytes); });
}

size_t find_first(std::string_view text, std::string_view part, size_t start) {
    if (start > text.size()) return std::string_view::npos;
    if (part.empty()) return start;
    // Unlike std::string_view::find, it never takes the product of the lengths.
    const void* at = memmem(text.data() + start, text.size() - start, part.data(), part.size());
    return at == nullptr ? std::string_view::npos
                         : static_cast<size_t>(static_cast<const char*>(at) - text.data());
}

size_t find_last(std::string_view text, std::string_view part) {
    // The first occurrence in what is read backwards.
    const std::string backwards(text.rbegin(), text.rend());
    const std::string part_backwards(part.rbegin(), part.rend());
    const size_t at = find_first(backwards, part_backwards);
    return at == std::string_view::npos ? at : text.size() - part.size() - at;
}

}  // namespace plait::text::jinja
