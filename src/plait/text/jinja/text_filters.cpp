#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "plait/text/jinja/fault.h"
#include "plait/text/jinja/filters.h"
#include "plait/text/jinja/print.h"
#include "plait/text/jinja/printf.h"
#include "plait/text/jinja/text_methods.h"
#include "plait/text/jinja/unicode.h"

namespace plait::text::jinja {
namespace {

template <std::string (*Map)(std::string_view)>
Value map_text(Call& call) {
    return call.made(Map(call.self_as_text()));
}

// Unlike the method: a word begins behind white space, a hyphen or an opening bracket only.
std::string title_words(std::string_view text) {
    std::string result;
    bool first = true;
    for (const std::string_view c : characters(text)) {
        result += first ? to_upper(c) : to_lower(c);
        first =
            is_space(first_character(c).code) || std::string_view("-({[<").find(c) != std::string_view::npos;
    }
    return result;
}

Value trim(Call& call) {
    const std::string text = call.self_as_text();
    const bool has_list = call.has(0) && !call[0].is_none();
    return call.made(std::string(has_list ? strip(text, call.text(0)) : strip(text)));
}

Value string(Call& call) { return Value(call.self_as_text()); }

Value itself(Call& call) { return call.self(); }

std::string escaped(std::string_view text) {
    std::string result;
    for (const char c : text) {
        switch (c) {
            case '&':
                result += "&amp;";
                break;
            case '<':
                result += "&lt;";
                break;
            case '>':
                result += "&gt;";
                break;
            case '\'':
                result += "&#39;";
                break;
            case '"':
                result += "&#34;";
                break;
            default:
                result += c;
        }
    }
    return result;
}

Value replace(Call& call) {
    const std::string old = to_text(call[0], call.budget()), by = to_text(call[1], call.budget());
    const bool has_count = call.has(2) && !call[2].is_none();
    return Value(replaced(call.self_as_text(), old, by, has_count ? call.integer(2, -1) : -1, call.budget()));
}

std::string indentation(const Call& call, size_t index, int64_t standard) {
    if (call[index].is_text()) return call.text(index);
    const int64_t width = std::max<int64_t>(call.integer(index, standard), 0);
    if (width > 10'000) throw Fault("expected an indentation of at most 10000 characters");
    return std::string(static_cast<size_t>(width), ' ');
}

Value indent(Call& call) {
    std::string text = call.self_as_text();
    text += '\n';
    const std::string indent = indentation(call, 0, 4);
    const bool first = call.flag(1, false), blank = call.flag(2, false);
    std::string result;
    size_t number = 0;
    // As if one more line end followed: the empty line behind a last line end counts.
    for (const std::string_view line : split_lines(text)) {
        const bool indented = number == 0 ? first : blank || !line.empty();
        call.budget().make(1 + indent.size() + line.size());
        if (number++ > 0) result += '\n';
        if (indented) result += indent;
        result += line;
    }
    return Value(std::move(result));
}

Value center(Call& call) {
    return call.made(centered(call.self_as_text(), call.integer(0, 80), " ", call.budget()));
}

Value word_count(Call& call) {
    const std::string text = call.self_as_text();
    int64_t words = 0;
    bool inside = false;
    for (const std::string_view c : characters(text)) {
        const char32_t code = first_character(c).code;
        const bool in_word = code == '_' || is_alphabetic(code) || is_digit(code);
        words += in_word && !inside ? 1 : 0;
        inside = in_word;
    }
    return Value(words);
}

Value truncate(Call& call) {
    const std::string text = call.self_as_text();
    const int64_t length = call.integer(0, 255), leeway = call.integer(3, 5);
    const std::string_view end = call.has(2) ? std::string_view(call.text(2)) : "...";
    if (static_cast<int64_t>(count_characters(text)) <= length + leeway) return Value(text);
    const int64_t kept = length - static_cast<int64_t>(count_characters(end));
    if (kept < 0) throw Fault("truncate expects a length that holds its end");
    std::string result = text.substr(0, offset_of_character(text, static_cast<size_t>(kept)));
    if (!call.flag(1, false)) result.resize(std::min(result.rfind(' '), result.size()));
    return call.made(result.append(end));
}

Value format(Call& call) {
    const Arguments& given = call.arguments();
    if (given.named.empty())
        return printf_text(call.self_as_text(), Value::tuple(given.positional), call.budget());
    if (!given.positional.empty()) throw Fault("format takes values with names or without, not both");
    std::vector<Dict::Entry> entries;
    for (const auto& [key, value] : given.named) entries.emplace_back(Value(key), value);
    return printf_text(call.self_as_text(), Value(Dict(std::move(entries))), call.budget());
}

void set_separators(JsonStyle& style, const Value& separators) {
    const bool is_pair = separators.is_sequence() && separators.items().size() == 2 &&
                         separators.items()[0].is_text() && separators.items()[1].is_text();
    if (!is_pair) throw Fault("tojson expects two strs as 'separators'");
    style.item_separator = separators.items()[0].text();
    style.key_separator = separators.items()[1].text();
}

Value tojson(Call& call) {
    enum Parameter : size_t { kAscii, kIndent, kSeparators, kSortKeys };
    JsonStyle style{.ascii = call.flag(kAscii, false), .sort_keys = call.flag(kSortKeys, false)};
    if (call.has(kIndent) && !call[kIndent].is_none()) {
        style.lines = true;
        style.indent = indentation(call, kIndent, 0);
        style.item_separator.pop_back();  // the space
    }
    if (call.has(kSeparators) && !call[kSeparators].is_none()) set_separators(style, call[kSeparators]);
    return Value(to_json(call.self(), style, call.budget()));
}

constexpr std::array<Builtin, 17> kFilters = {
    {{"capitalize", "", 0, map_text<capitalized>},
     {"center", "width", 0, center},
     {"e", "", 0, map_text<escaped>},
     {"escape", "", 0, map_text<escaped>},
     {"forceescape", "", 0, map_text<escaped>},
     {"format", "*", 0, format},
     {"indent", "width first blank", 0, indent},
     {"lower", "", 0, map_text<to_lower>},
     {"replace", "old new count", 2, replace},
     {"safe", "", 0, itself},
     {"string", "", 0, string},
     {"title", "", 0, map_text<title_words>},
     {"tojson", "ensure_ascii indent separators sort_keys", 0, tojson},
     {"trim", "chars", 0, trim},
     {"truncate", "length killwords end leeway", 0, truncate},
     {"upper", "", 0, map_text<to_upper>},
     {"wordcount", "", 0, word_count}}};

}  // namespace

std::span<const Builtin> text_filters() { return kFilters; }

}  // namespace plait::text::jinja
