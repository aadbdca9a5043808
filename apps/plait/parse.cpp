#include "parse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "plait/backends/cpu/simd/select.h"
#include "plait/base/quote.h"
#include "plait/engine/devices.h"
#include "plait/text/pre_rules.h"

namespace plait::app {
namespace {

std::vector<std::string> split_list(const std::string& text) {
    std::vector<std::string> parts;
    std::string part;
    std::istringstream stream(text);
    while (std::getline(stream, part, ',')) parts.push_back(part);
    if (text.empty() || text.back() == ',') parts.emplace_back();
    return parts;
}

// The whole text as a number, or nothing.
template <class Number>
std::optional<Number> number_of(std::string_view text) {
    Number number{};
    const char* end = text.data() + text.size();
    const auto [rest, fault] = std::from_chars(text.data(), end, number);
    if (fault != std::errc() || rest != end) return std::nullopt;
    return number;
}

constexpr std::string_view kSpaces = " \t\r\n";

const char* skip_spaces(const char* at, const char* end) {
    return std::find_if(at, end, [](char c) { return kSpaces.find(c) == std::string_view::npos; });
}

// Behind an id: spaces, and one comma at most.
const char* skip_between_ids(const char* at, const char* end) {
    at = skip_spaces(at, end);
    return at != end && *at == ',' ? skip_spaces(at + 1, end) : at;
}

std::string_view trimmed(std::string_view text) {
    const size_t begin = std::min(text.find_first_not_of(kSpaces), text.size());
    return text.substr(begin, text.find_last_not_of(kSpaces) + 1 - begin);
}

std::string_view without_brackets(std::string_view list) {
    if (!list.starts_with('[') || !list.ends_with(']')) return list;
    return trimmed(list.substr(1, list.size() - 2));
}

std::string range_text(int64_t smallest, int64_t largest) {
    if (smallest == largest) return fmt::format("{}", smallest);
    return fmt::format("a whole number from {} to {}", smallest, largest);
}

}  // namespace

dtype::DType parse_cache_type(const std::string& text) {
    const dtype::DTypeInfo* info = dtype::find_name(text);
    if (info != nullptr && dtype::is_cache_format(info->type)) return info->type;
    throw Error(fmt::format("a cache cannot have the type {}; expected one of {}", quote(text),
                            dtype::cache_format_names()));
}

std::string parse_devices(const std::string& text) {
    engine::check_devices(text);
    return text;
}

std::string parse_simd(const std::string& text) {
    backends::cpu::simd::parse_level(text);
    return text;
}

std::string parse_pre(const std::string& text) {
    text::find_pre_rule(text);
    return text;
}

std::string parse_shares(const std::string& text) {
    if (text == "auto") return text;
    double sum = 0;
    for (const std::string& part : split_list(text)) {
        const std::optional<double> share = number_of<double>(part);
        if (!share || !std::isfinite(*share) || *share < 0) {
            throw Error(fmt::format("expected auto or shares such as 1,1, found {}", quote(text)));
        }
        sum += *share;
    }
    if (sum <= 0) throw Error("the shares are all zero; expected at least one above it");
    return text;
}

std::vector<double> share_list(const std::string& text) {
    std::vector<double> shares;
    for (const std::string& part : split_list(text)) shares.push_back(number_of<double>(part).value_or(0));
    return shares;
}

std::optional<uint64_t> parse_seed(const std::string& text) {
    if (text == "-1") return std::nullopt;
    const auto seed = number_of<uint64_t>(text);
    if (!seed) {
        throw Error(fmt::format("expected a whole number from 0 to {}, or -1 to draw one, found {}",
                                std::numeric_limits<uint64_t>::max(), quote(text)));
    }
    return seed;
}

std::vector<int64_t> parse_byte_list(const std::string& text) {
    std::vector<int64_t> bytes;
    for (const std::string& part : split_list(text)) bytes.push_back(engine::parse_bytes(part));
    return bytes;
}

std::vector<int32_t> parse_ids(const std::string& text) {
    std::vector<int32_t> ids;
    const std::string_view list = without_brackets(trimmed(text));
    const char* at = list.data();
    const char* const end = at + list.size();
    while (at != end) {
        int32_t id = 0;
        const auto [rest, fault] = std::from_chars(at, end, id);
        if (fault != std::errc()) {
            throw Error(fmt::format("expected ids such as 1,2,3, found {} at character {}",
                                    quote(std::string_view(at, end), 20), at - text.data() + 1));
        }
        ids.push_back(id);
        at = skip_between_ids(rest, end);
    }
    return ids;
}

std::vector<int32_t> parse_some_ids(const std::string& text) {
    std::vector<int32_t> ids = parse_ids(text);
    if (ids.empty()) throw Error("expected at least one id, as in 1,2,3");
    return ids;
}

CLI::Validator whole_number(int64_t smallest, int64_t largest) {
    const auto check = [smallest, largest](std::string& text) -> std::string {
        const auto number = number_of<int64_t>(text);
        if (!number || *number < smallest || *number > largest) {
            return fmt::format("expected {}, found {}", range_text(smallest, largest), quote(text));
        }
        text = fmt::format("{}", *number);  // CLI11 would take a leading zero for octal
        return {};
    };
    return {check, ""};
}

CLI::Validator real_number() {
    const auto check = [](std::string& text) -> std::string {
        const auto number = number_of<double>(text);
        if (number && std::isfinite(*number)) return {};
        return fmt::format("expected a number such as 0.8, found {}", quote(text));
    };
    return {check, ""};
}

CLI::Validator one_of(std::vector<std::string> values) {
    const auto check = [values = std::move(values)](std::string& text) -> std::string {
        if (std::ranges::find(values, text) != values.end()) return {};
        return fmt::format("expected one of {}, found {}", fmt::join(values, ", "), quote(text));
    };
    return {check, ""};
}

}  // namespace plait::app
