#include "plait/text/jinja/text_methods.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "plait/text/jinja/access.h"
#include "plait/text/jinja/fault.h"
#include "plait/text/jinja/operators.h"
#include "plait/text/jinja/printf.h"
#include "plait/text/jinja/unicode.h"

namespace plait::text::jinja {
namespace {

constexpr int64_t kAll = -1;

// --- Whole texts to whole texts ---

template <std::string (*Map)(std::string_view)>
Value map_text(Call& call) {
    call.budget().look_at(call.self_text().size());
    return call.made(Map(call.self_text()));
}

std::string swap_case(std::string_view text) {
    std::string result;
    for (const std::string_view c : characters(text)) {
        result += is_upper(first_character(c).code) ? to_lower(c) : to_upper(c);
    }
    return result;
}

template <Side side>
Value strip_method(Call& call) {
    call.budget().look_at(call.self_text().size());
    const bool has_list = call.has(0) && !call[0].is_none();
    return call.made(
        std::string(has_list ? strip(call.self_text(), call.text(0), side) : strip(call.self_text(), side)));
}

Value remove_prefix(Call& call) {
    std::string_view text = call.self_text();
    if (text.starts_with(call.text(0))) text.remove_prefix(call.text(0).size());
    return call.made(std::string(text));
}

Value remove_suffix(Call& call) {
    std::string_view text = call.self_text();
    if (text.ends_with(call.text(0))) text.remove_suffix(call.text(0).size());
    return call.made(std::string(text));
}

Value replace(Call& call) {
    return Value(
        replaced(call.self_text(), call.text(0), call.text(1), call.integer(2, kAll), call.budget()));
}

// --- Padding ---

std::string padding(int64_t characters, std::string_view fill, Budget& budget) {
    if (count_characters(fill) != 1) throw Fault("expected one character to fill with");
    if (characters <= 0) return "";
    if (characters > INT32_MAX) throw Fault("the width of the text is too large");
    budget.make(static_cast<size_t>(characters) * fill.size());
    std::string result;
    for (int64_t i = 0; i < characters; ++i) result += fill;
    return result;
}

std::string_view fill_of(const Call& call) { return call.has(1) ? std::string_view(call.text(1)) : " "; }

int64_t missing_width(const Call& call) {
    return call.integer(0, 0) - static_cast<int64_t>(count_characters(call.self_text()));
}

Value left_justified(Call& call) {
    return call.made(std::string(call.self_text()) +
                     padding(missing_width(call), fill_of(call), call.budget()));
}

Value right_justified(Call& call) {
    return call.made(padding(missing_width(call), fill_of(call), call.budget()) +
                     std::string(call.self_text()));
}

Value center(Call& call) {
    return call.made(centered(call.self_text(), call.integer(0, 0), fill_of(call), call.budget()));
}

Value zero_filled(Call& call) {
    std::string text(call.self_text());
    const bool has_sign = text.starts_with('-') || text.starts_with('+');
    return call.made(text.insert(has_sign ? 1 : 0, padding(missing_width(call), "0", call.budget())));
}

// --- Splitting and joining ---

Value list_of(Call& call, const std::vector<std::string_view>& parts) {
    std::vector<Value> items;
    for (const std::string_view part : parts) {
        call.budget().make(part.size() + 48);
        items.emplace_back(part);
    }
    return call.made_list(std::move(items));
}

// Where the run of characters that are (not) white space ends.
size_t run_end(std::string_view text, bool space) {
    size_t at = 0;
    while (at < text.size()) {
        const Character next = first_character(text.substr(at));
        if (is_space(next.code) != space) break;
        at += next.bytes.size();
    }
    return at;
}

std::vector<std::string_view> split_at_space(std::string_view text, int64_t most) {
    std::vector<std::string_view> parts;
    text = strip(text, Side::left);
    while (!text.empty() && (most == kAll || static_cast<int64_t>(parts.size()) < most)) {
        const size_t end = run_end(text, false);
        parts.push_back(text.substr(0, end));
        text.remove_prefix(end);
        text = strip(text, Side::left);
    }
    if (!text.empty()) parts.push_back(strip(text, Side::right));
    return parts;
}

std::vector<std::string_view> split_at(std::string_view text, std::string_view separator, int64_t most) {
    std::vector<std::string_view> parts;
    for (size_t at; (most == kAll || static_cast<int64_t>(parts.size()) < most) &&
                    (at = find_first(text, separator)) != text.npos;) {
        parts.push_back(text.substr(0, at));
        text.remove_prefix(at + separator.size());
    }
    parts.push_back(text);
    return parts;
}

// Reads backwards: what split() does with everything turned round.
std::string reversed_bytes(std::string_view text) { return {text.rbegin(), text.rend()}; }

std::vector<std::string_view> rsplit_at(std::string_view text, std::string_view separator, int64_t most) {
    const std::string turned = reversed_bytes(text);
    std::vector<std::string_view> parts;
    for (const std::string_view part : split_at(turned, reversed_bytes(separator), most)) {
        const auto end = text.size() - static_cast<size_t>(part.data() - turned.data());
        parts.push_back(text.substr(end - part.size(), part.size()));
    }
    std::ranges::reverse(parts);
    return parts;
}

std::vector<std::string_view> rsplit_at_space(std::string_view text, int64_t most) {
    auto words = split_at_space(text, kAll);
    if (most == kAll || static_cast<int64_t>(words.size()) <= most) return words;
    const auto kept = static_cast<size_t>(most);
    std::string_view rest = strip(text, Side::right);
    if (kept > 0) {
        const auto* first_kept = words[words.size() - kept].data();
        rest = strip(text.substr(0, static_cast<size_t>(first_kept - text.data())), Side::right);
    }
    words.erase(words.begin(), words.end() - static_cast<std::ptrdiff_t>(kept));
    words.insert(words.begin(), rest);
    return words;
}

int64_t most_splits(const Call& call) { return std::max(call.integer(1, kAll), kAll); }
bool splits_at_space(const Call& call) { return !call.has(0) || call[0].is_none(); }

const std::string& separator(const Call& call) {
    if (call.text(0).empty()) throw Fault("the separator is empty");
    return call.text(0);
}

Value split(Call& call) {
    call.budget().look_at(call.self_text().size());
    return list_of(call, splits_at_space(call)
                             ? split_at_space(call.self_text(), most_splits(call))
                             : split_at(call.self_text(), separator(call), most_splits(call)));
}

Value rsplit(Call& call) {
    call.budget().look_at(call.self_text().size());
    return list_of(call, splits_at_space(call)
                             ? rsplit_at_space(call.self_text(), most_splits(call))
                             : rsplit_at(call.self_text(), separator(call), most_splits(call)));
}

Value splitlines(Call& call) { return list_of(call, split_lines(call.self_text())); }

Value three(Call& call, std::string_view a, std::string_view b, std::string_view c) {
    call.budget().make(a.size() + b.size() + c.size());
    return Value::tuple({Value(a), Value(b), Value(c)});
}

Value partition(Call& call) {
    const std::string_view text = call.self_text();
    const size_t at = find_first(text, separator(call));
    if (at == text.npos) return three(call, text, "", "");
    return three(call, text.substr(0, at), call.text(0), text.substr(at + call.text(0).size()));
}

Value rpartition(Call& call) {
    const std::string_view text = call.self_text();
    const size_t at = find_last(text, separator(call));
    if (at == text.npos) return three(call, "", "", text);
    return three(call, text.substr(0, at), call.text(0), text.substr(at + call.text(0).size()));
}

Value join(Call& call) {
    std::string result;
    bool first = true;
    for (const Value& item : items_of(call[0], call.budget())) {
        if (!item.is_text()) throw Fault(fmt::format("join expects strs, found {}", item.type_name()));
        call.budget().make(call.self_text().size() + item.text().size());
        if (!first) result += call.self_text();
        result += item.text();
        first = false;
    }
    return Value(std::move(result));
}

// --- Looking ---

// The part that optional start and end (in characters, as for slices) leave, and how many characters precede
// it.
struct Window {
    std::string_view text;
    int64_t before;
};

Window window(Call& call) {
    const std::string_view text = call.self_text();
    call.budget().look_at(text.size());
    if (!call.has(1) && !call.has(2)) return {text, 0};
    const auto count = static_cast<int64_t>(count_characters(text));
    const auto bound = [&](size_t index, int64_t standard) {
        const bool given = call.has(index) && !call[index].is_none();
        const int64_t at = given ? call.integer(index, standard) : standard;
        return std::clamp<int64_t>(at < 0 ? at + count : at, 0, count);
    };
    const int64_t start = bound(1, 0), end = std::max(bound(2, count), start);
    const size_t from = offset_of_character(text, static_cast<size_t>(start));
    const size_t to = offset_of_character(text, static_cast<size_t>(end));
    return {text.substr(from, to - from), start};
}

template <bool (*Matches)(std::string_view text, std::string_view part)>
Value matches(Call& call) {
    const std::string_view text = window(call).text;
    if (!call[0].is_tuple()) return Value(Matches(text, call.text(0)));
    return Value(std::ranges::any_of(call[0].items(), [&](const Value& part) {
        if (!part.is_text())
            throw Fault(fmt::format("{} expects strs, found {}", call.name(), part.type_name()));
        return Matches(text, part.text());
    }));
}

bool starts(std::string_view text, std::string_view part) { return text.starts_with(part); }
bool ends(std::string_view text, std::string_view part) { return text.ends_with(part); }

int64_t position(Call& call, size_t (*find)(std::string_view text, std::string_view part)) {
    const Window where = window(call);
    const size_t at = find(where.text, call.text(0));
    if (at == where.text.npos) return -1;
    return where.before + static_cast<int64_t>(count_characters(where.text.substr(0, at)));
}

size_t first_of(std::string_view text, std::string_view part) { return find_first(text, part); }

Value find_method(Call& call) { return Value(position(call, first_of)); }
Value rfind(Call& call) { return Value(position(call, find_last)); }

int64_t found(Call& call, int64_t at) {
    if (at < 0) throw Fault(fmt::format("{}: the text is not there", call.name()));
    return at;
}
Value index_method(Call& call) { return Value(found(call, position(call, first_of))); }
Value rindex(Call& call) { return Value(found(call, position(call, find_last))); }

Value count(Call& call) {
    const std::string_view text = window(call).text;
    const std::string& part = call.text(0);
    if (part.empty()) return Value(count_characters(text) + 1);
    int64_t result = 0;
    for (size_t at = 0; (at = find_first(text, part, at)) != text.npos; at += part.size()) ++result;
    return Value(result);
}

template <bool (*Is)(char32_t)>
Value all_are(Call& call) {
    call.budget().look_at(call.self_text().size());
    const auto all = characters(call.self_text());
    return Value(!all.empty() &&
                 std::ranges::all_of(all, [](std::string_view c) { return Is(first_character(c).code); }));
}

bool is_alphanumeric(char32_t code) { return is_alphabetic(code) || is_digit(code); }

// Letters of the one case and none of the other.
template <bool (*Is)(char32_t), bool (*IsNot)(char32_t)>
Value case_is(Call& call) {
    call.budget().look_at(call.self_text().size());
    const auto all = characters(call.self_text());
    const auto any = [&](bool (*is)(char32_t)) {
        return std::ranges::any_of(all, [is](std::string_view c) { return is(first_character(c).code); });
    };
    return Value(any(Is) && !any(IsNot));
}

Value format(Call& call) { return format_text(call.self_text(), call.arguments(), call.budget()); }

constexpr std::array<Builtin, 38> kMethods = {{{"capitalize", "", 0, map_text<capitalized>},
                                               {"casefold", "", 0, map_text<to_lower>},
                                               {"center", "width fillchar", 1, center},
                                               {"count", "sub start end", 1, count},
                                               {"endswith", "suffix start end", 1, matches<ends>},
                                               {"find", "sub start end", 1, find_method},
                                               {"format", "*", 0, format},
                                               {"index", "sub start end", 1, index_method},
                                               {"isalnum", "", 0, all_are<is_alphanumeric>},
                                               {"isalpha", "", 0, all_are<is_alphabetic>},
                                               {"isdecimal", "", 0, all_are<is_digit>},
                                               {"isdigit", "", 0, all_are<is_digit>},
                                               {"islower", "", 0, case_is<is_lower, is_upper>},
                                               {"isnumeric", "", 0, all_are<is_digit>},
                                               {"isspace", "", 0, all_are<is_space>},
                                               {"isupper", "", 0, case_is<is_upper, is_lower>},
                                               {"join", "iterable", 1, join},
                                               {"ljust", "width fillchar", 1, left_justified},
                                               {"lower", "", 0, map_text<to_lower>},
                                               {"lstrip", "chars", 0, strip_method<Side::left>},
                                               {"partition", "sep", 1, partition},
                                               {"removeprefix", "prefix", 1, remove_prefix},
                                               {"removesuffix", "suffix", 1, remove_suffix},
                                               {"replace", "old new count", 2, replace},
                                               {"rfind", "sub start end", 1, rfind},
                                               {"rindex", "sub start end", 1, rindex},
                                               {"rjust", "width fillchar", 1, right_justified},
                                               {"rpartition", "sep", 1, rpartition},
                                               {"rsplit", "sep maxsplit", 0, rsplit},
                                               {"rstrip", "chars", 0, strip_method<Side::right>},
                                               {"split", "sep maxsplit", 0, split},
                                               {"splitlines", "", 0, splitlines},
                                               {"startswith", "prefix start end", 1, matches<starts>},
                                               {"strip", "chars", 0, strip_method<Side::both>},
                                               {"swapcase", "", 0, map_text<swap_case>},
                                               {"title", "", 0, map_text<titled>},
                                               {"upper", "", 0, map_text<to_upper>},
                                               {"zfill", "width", 1, zero_filled}}};

}  // namespace

std::span<const Builtin> text_methods() { return kMethods; }

std::vector<std::string_view> split_lines(std::string_view text) {
    std::vector<std::string_view> lines;
    size_t line_bytes = 0;
    for (std::string_view rest = text; !rest.empty();) {
        const Character next = first_character(rest);
        const char32_t code = next.code;
        const bool breaks = (code >= 0x0A && code <= 0x0D) || (code >= 0x1C && code <= 0x1E) ||
                            code == 0x85 || code == 0x2028 || code == 0x2029;
        rest.remove_prefix(next.bytes.size());
        if (!breaks) {
            line_bytes += next.bytes.size();
            continue;
        }
        lines.push_back(text.substr(0, line_bytes));
        if (code == '\r' && rest.starts_with('\n')) rest.remove_prefix(1);
        text = rest;
        line_bytes = 0;
    }
    if (!text.empty()) lines.push_back(text);
    return lines;
}

std::string replaced(std::string_view text, std::string_view old, std::string_view by, int64_t count,
                     Budget& budget) {
    std::string result;
    const auto write = [&](std::string_view part) {
        budget.make(part.size());
        result += part;
    };
    // An empty text is found before every character and at the end.
    while (count != 0) {
        const size_t at = find_first(text, old);
        if (at == text.npos) break;
        write(text.substr(0, at));
        write(by);
        text.remove_prefix(at + old.size());
        if (count > 0) --count;
        if (!old.empty()) continue;
        if (text.empty()) return result;
        const std::string_view next = first_character(text).bytes;
        write(next);
        text.remove_prefix(next.size());
    }
    write(text);
    return result;
}

std::string centered(std::string_view text, int64_t width, std::string_view fill, Budget& budget) {
    const int64_t pad = width - static_cast<int64_t>(count_characters(text));
    if (pad <= 0) return std::string(text);
    const int64_t left = pad / 2 + (pad & width & 1);  // as Python rounds
    return padding(left, fill, budget).append(text) + padding(pad - left, fill, budget);
}

}  // namespace plait::text::jinja
