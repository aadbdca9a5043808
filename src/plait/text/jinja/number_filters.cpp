#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "plait/text/jinja/fault.h"
#include "plait/text/jinja/filters.h"
#include "plait/text/jinja/operators.h"
#include "plait/text/jinja/unicode.h"

namespace plait::text::jinja {
namespace {

// Digits with what Python allows around and between them: white space, a sign, single underscores.
std::optional<std::string> plain_number(std::string_view text) {
    text = strip(text);
    std::string result;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '_') {
            result += text[i];
        } else if (i == 0 || i + 1 == text.size() || !std::isalnum(static_cast<unsigned char>(text[i - 1])) ||
                   !std::isalnum(static_cast<unsigned char>(text[i + 1]))) {
            return std::nullopt;
        }
    }
    if (result.starts_with('+') && result.find_first_of("+-", 1) != 1) result.erase(0, 1);
    return result;
}

template <class Number, class... Base>
std::optional<Number> whole_text(const std::string& text, Base... base) {
    Number number{};
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number, base...);
    return !text.empty() && error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

void drop_base_prefix(std::string& digits, int base) {
    const std::string_view letter = base == 16 ? "xX" : base == 8 ? "oO" : base == 2 ? "bB" : "";
    const size_t at = digits.starts_with('-') ? 1 : 0;
    if (digits.size() > at + 2 && digits[at] == '0' && letter.find(digits[at + 1]) != letter.npos)
        digits.erase(at, 2);
}

std::optional<double> real_of(const Value& value) {
    if (value.is_number()) return value.real();
    if (!value.is_text()) return std::nullopt;
    const auto text = plain_number(value.text());
    return text ? whole_text<double>(*text) : std::nullopt;
}

std::optional<int64_t> truncated(std::optional<double> real) {
    if (!real || !(std::abs(*real) < 9.2e18)) return std::nullopt;
    return static_cast<int64_t>(*real);
}

std::optional<int64_t> integer_of(const Value& value, int base) {
    if (const auto whole = value.integer()) return whole;
    if (value.is_text()) {
        if (auto text = plain_number(value.text())) {
            drop_base_prefix(*text, base);
            if (const auto whole = whole_text<int64_t>(*text, base)) return whole;
        }
    }
    return truncated(real_of(value));
}

Value to_int(Call& call) {
    require_defined(call.self());
    const int64_t base = call.integer(1, 10);
    if (base < 2 || base > 36) throw Fault("int expects a base from 2 to 36");
    if (const auto whole = integer_of(call.self(), static_cast<int>(base))) return Value(*whole);
    return call.has(0) ? call[0] : Value(0);
}

Value to_float(Call& call) {
    require_defined(call.self());
    if (const auto real = real_of(call.self())) return Value(*real);
    return call.has(0) ? call[0] : Value(0.0);
}

void require_number(const Call& call) {
    require_defined(call.self());
    if (!call.self().is_number()) {
        throw Fault(fmt::format("{} expects a number, found {}", call.name(), call.self().type_name()));
    }
}

Value absolute(Call& call) {
    require_number(call);
    return is_true(Value(order(call.self(), Value(0), call.budget()) < 0)) ? negative(call.self())
                                                                           : call.self();
}

// To the nearest decimal, of two equally near ones the even.
double rounded(double number, int64_t digits) {
    if (digits < 0) {
        const double unit = std::pow(10.0, static_cast<double>(-digits));
        return std::nearbyint(number / unit) * unit;
    }
    return std::strtod(fmt::format("{:.{}f}", number, std::min<int64_t>(digits, 324)).c_str(), nullptr);
}

Value round(Call& call) {
    require_number(call);
    const int64_t digits = call.integer(0, 0);
    const std::string method = call.has(1) ? call.text(1) : "common";
    if (method == "common") {
        if (call.self().integer() && digits >= 0) return Value(*call.self().integer());
        return Value(rounded(call.self().real(), digits));
    }
    if (method != "ceil" && method != "floor")
        throw Fault("round expects 'common', 'ceil' or 'floor' as 'method'");
    const double unit = std::pow(10.0, static_cast<double>(digits));
    const double scaled = call.self().real() * unit;
    return Value((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / unit);
}

constexpr std::array<Builtin, 4> kFilters = {{{"abs", "", 0, absolute},
                                              {"float", "default", 0, to_float},
                                              {"int", "default base", 0, to_int},
                                              {"round", "precision method", 0, round}}};

}  // namespace

std::span<const Builtin> number_filters() { return kFilters; }

}  // namespace plait::text::jinja
