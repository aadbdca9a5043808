#include "plait/text/jinja/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "plait/base/quote.h"
#include "plait/text/jinja/string_literal.h"
#include "plait/text/jinja/unicode.h"

namespace plait::text::jinja {
namespace {

// Longest first where one begins another.
constexpr std::array<std::string_view, 26> kOperations = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                                          "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                                          ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};

std::string normalized(std::string_view source) {
    std::string text;
    text.reserve(source.size());
    for (size_t i = 0; i < source.size(); ++i) {
        if (source[i] != '\r') {
            text += source[i];
        } else if (i + 1 == source.size() || source[i + 1] != '\n') {
            text += '\n';
        }
    }
    if (text.ends_with('\n')) text.pop_back();
    return text;
}

bool is_digit_byte(char c) { return c >= '0' && c <= '9'; }

bool is_name_start(const Character& c) { return c.code == '_' || is_alphabetic(c.code); }
bool is_name_part(const Character& c) { return is_name_start(c) || is_digit(c.code); }

// Which character closes this bracket; none if it is no opening one.
char closing(char bracket) {
    switch (bracket) {
        case '(':
            return ')';
        case '[':
            return ']';
        case '{':
            return '}';
        default:
            return 0;
    }
}

class Lexer {
  public:
    explicit Lexer(std::string_view source) : text_(normalized(source)) {}

    std::vector<Token> run() {
        while (at_ < text_.size()) read_text_and_tag();
        add(TokenKind::end, "");
        return std::move(tokens_);
    }

  private:
    std::string_view rest() const { return std::string_view(text_).substr(at_); }
    bool starts(std::string_view what) const { return rest().starts_with(what); }

    // Moves on, keeping count of lines and columns.
    void advance(size_t bytes) {
        for (const size_t end = at_ + bytes; at_ < end; ++at_) {
            if (text_[at_] == '\n') {
                ++place_.line;
                place_.column = 1;
            } else if ((static_cast<unsigned char>(text_[at_]) & 0xC0) != 0x80) {  // a character's first byte
                ++place_.column;
            }
        }
    }

    void add(TokenKind kind, std::string text) { tokens_.push_back({kind, std::move(text), place_}); }
    void add_text(std::string_view text, Place place) {
        if (!text.empty()) tokens_.push_back({TokenKind::text, std::string(text), place});
    }

    // "{%" and the like with the sign that may follow, at the current place.
    struct Opening {
        char what;  // % # {
        char sign;  // - + or 0
    };

    static size_t find_tag(std::string_view text, size_t from) {
        for (size_t at = from; (at = text.find('{', at)) != text.npos; ++at) {
            if (at + 1 < text.size() && std::string_view("%#{").find(text[at + 1]) != text.npos) return at;
        }
        return text.npos;
    }

    char sign_at(size_t at) const {
        return at < text_.size() && (text_[at] == '-' || text_[at] == '+') ? text_[at] : 0;
    }

    // What of the text before a tag is written.
    std::string_view before_tag(std::string_view text, Opening tag) const {
        if (tag.sign == '-') return strip(text, Side::right);
        if (tag.sign == '+' || tag.what == '{') return text;
        const size_t line = text.rfind('\n') + 1;  // 0: none
        if (line == 0 && !line_starting_) return text;
        return text.find_first_not_of(" \t", line) == text.npos ? text.substr(0, line) : text;
    }

    void read_text_and_tag() {
        const size_t start = at_;
        const Place place = place_;
        const size_t tag_at = std::min(find_tag(text_, at_), text_.size());
        const std::string_view text = std::string_view(text_).substr(start, tag_at - start);
        advance(text.size());
        if (at_ == text_.size()) return add_text(text, place);
        const Opening tag{.what = text_[at_ + 1], .sign = sign_at(at_ + 2)};
        add_text(before_tag(text, tag), place);
        read_tag(tag);
        line_starting_ = text_[at_ - 1] == '\n';
    }

    void read_tag(Opening tag) {
        const Place place = place_;
        const size_t signs = tag.sign == 0 ? 0 : 1;
        if (tag.what == '#') return skip_comment(at_ + 2 + signs);
        if (tag.what == '%' && skip_word_tag(at_ + 2 + signs, "raw", /*trim=*/false)) return read_raw(place);
        add(tag.what == '%' ? TokenKind::block_begin : TokenKind::variable_begin, "");
        advance(2 + signs);
        read_code(tag.what == '%' ? "%}" : "}}", place);
    }

    void skip_comment(size_t inside) {
        const size_t end = text_.find("#}", inside);
        if (end == text_.npos) fail_at(place_, "expected '#}' to end this comment");
        const char sign = end > inside ? sign_at(end - 1) : 0;
        advance(end + 2 - at_);
        after_tag(sign, /*trim=*/true);
    }

    // White space that a tag's end takes with it.
    void after_tag(char sign, bool trim) {
        if (sign == '-') {
            advance(rest().size() - strip(rest(), Side::left).size());
        } else if (sign != '+' && trim && starts("\n")) {
            advance(1);
        }
    }

    // If what stands from `at` on is `word` and the end of a block tag, moves behind it.
    bool skip_word_tag(size_t at, std::string_view word, bool trim) {
        std::string_view tag = strip(std::string_view(text_).substr(at), Side::left);
        if (!tag.starts_with(word)) return false;
        tag = strip(tag.substr(word.size()), Side::left);
        const char sign = tag.empty() ? 0 : tag[0];
        const bool has_sign = sign == '-' || (sign == '+' && trim);
        if (has_sign) tag.remove_prefix(1);
        if (!tag.starts_with("%}")) return false;
        advance(text_.size() - tag.size() + 2 - at_);
        after_tag(has_sign ? sign : 0, trim);
        return true;
    }

    void read_raw(Place opening) {
        const size_t start = at_;
        const Place place = place_;
        line_starting_ = start > 0 && text_[start - 1] == '\n';
        for (size_t end = start; (end = text_.find("{%", end)) != text_.npos; ++end) {
            const char sign = sign_at(end + 2);
            const std::string_view text = std::string_view(text_).substr(start, end - start);
            if (!skip_word_tag(end + 2 + (sign == 0 ? 0 : 1), "endraw", /*trim=*/true)) continue;
            return add_text(before_tag(text, {.what = '%', .sign = sign}), place);
        }
        fail_at(opening, "expected '{% endraw %}' to end this raw block");
    }

    // The inside of a tag, up to and with its end.
    void read_code(std::string_view end, Place opening) {
        std::string brackets;  // that must still be closed, innermost last
        while (true) {
            advance(rest().size() - strip(rest(), Side::left).size());
            if (at_ == text_.size()) {
                fail_at(opening, fmt::format("expected '{}' to end this tag", end));
            }
            if (brackets.empty() && read_end(end)) return;
            read_token(brackets);
        }
    }

    bool read_end(std::string_view end) {
        const bool is_block = end == "%}";
        const char sign = text_[at_] == '-' || (is_block && text_[at_] == '+') ? text_[at_] : 0;
        if (!rest().substr(sign == 0 ? 0 : 1).starts_with(end)) return false;
        add(is_block ? TokenKind::block_end : TokenKind::variable_end, "");
        advance(end.size() + (sign == 0 ? 0 : 1));
        after_tag(sign, is_block);
        return true;
    }

    void read_token(std::string& brackets) {
        const Character next = first_character(rest());
        if (is_digit_byte(text_[at_])) return read_number();
        if (is_name_start(next)) return read_name();
        if (next.code == '"' || next.code == '\'') return read_string();
        const auto* operation =
            std::ranges::find_if(kOperations, [&](std::string_view known) { return starts(known); });
        if (operation == kOperations.end()) {
            fail_at(place_, fmt::format("unexpected character {}", quote(next.bytes)));
        }
        balance(brackets, (*operation)[0]);
        add(TokenKind::operation, std::string(*operation));
        advance(operation->size());
    }

    void balance(std::string& brackets, char bracket) const {
        if (const char close = closing(bracket)) {
            brackets += close;
        } else if (bracket == ')' || bracket == ']' || bracket == '}') {
            if (brackets.empty()) fail_at(place_, fmt::format("unexpected '{}'", bracket));
            if (brackets.back() != bracket) {
                fail_at(place_, fmt::format("expected '{}', found '{}'", brackets.back(), bracket));
            }
            brackets.pop_back();
        }
    }

    void read_name() {
        std::string_view left = rest();
        while (!left.empty() && is_name_part(first_character(left))) {
            left.remove_prefix(first_character(left).bytes.size());
        }
        const size_t bytes = rest().size() - left.size();
        add(TokenKind::name, std::string(rest().substr(0, bytes)));
        advance(bytes);
    }

    // Digits from `at` on, with single underscores between them.
    size_t digits_end(size_t at) const {
        while (at < text_.size() && (is_digit_byte(text_[at]) || (text_[at] == '_' && at + 1 < text_.size() &&
                                                                  is_digit_byte(text_[at + 1])))) {
            ++at;
        }
        return at;
    }

    bool digit_at(size_t at) const { return at < text_.size() && is_digit_byte(text_[at]); }

    void read_number() {
        size_t end = digits_end(at_);
        bool is_real = false;
        // "a.1.2" are two items of items, no number.
        const bool after_dot = at_ > 0 && text_[at_ - 1] == '.';
        if (!after_dot && end < text_.size() && text_[end] == '.' && digit_at(end + 1)) {
            end = digits_end(end + 1);
            is_real = true;
        }
        if (!after_dot && end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
            const size_t digits = end + 1 + (sign_at(end + 1) != 0 ? 1 : 0);
            if (digit_at(digits)) {
                end = digits_end(digits);
                is_real = true;
            }
        }
        std::string digits(text_, at_, end - at_);
        std::erase(digits, '_');
        add(is_real ? TokenKind::real : TokenKind::integer, std::move(digits));
        advance(end - at_);
    }

    void read_string() {
        const char mark = text_[at_];
        size_t end = at_ + 1;
        while (end < text_.size() && text_[end] != mark) end += text_[end] == '\\' ? 2 : 1;
        if (end >= text_.size()) fail_at(place_, fmt::format("expected {} to end this string", mark));
        const std::string_view inside = std::string_view(text_).substr(at_ + 1, end - at_ - 1);
        try {
            add(TokenKind::string, unescaped(inside));
        } catch (const Fault& fault) {
            fail_at(place_, fault.message());
        }
        advance(end + 1 - at_);
    }

    const std::string text_;
    size_t at_ = 0;
    Place place_;
    bool line_starting_ = true;
    std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) { return Lexer(source).run(); }

}  // namespace plait::text::jinja
