#include "plait/text/jinja/printf.h"

#include <fmt/format.h>
#include <fmt/printf.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "plait/base/quote.h"
#include "plait/text/jinja/fault.h"
#include "plait/text/jinja/print.h"
#include "plait/text/jinja/unicode.h"

namespace plait::text::jinja {
namespace {

constexpr int kWidest = 10'000;

// %[(name)][flags][width][.precision]letter
struct Conversion {
    std::string_view name;
    std::string flags;  // each once
    int width = 0;
    int precision = -1;  // none
    char letter = 0;
};

class Printf {
  public:
    Printf(std::string_view format, const Value& values, Budget& budget)
        : rest_(format), values_(values), budget_(budget) {}

    std::string run() {
        while (!rest_.empty()) {
            const size_t plain = std::min(rest_.find('%'), rest_.size());
            write(rest_.substr(0, plain));
            rest_.remove_prefix(plain);
            if (!rest_.empty()) convert();
        }
        const bool all_used = values_.is_dict() || values_.is_list() || used_ == count();
        if (!all_used) throw Fault(fmt::format("expected {} values to format, found {}", used_, count()));
        return std::move(out_);
    }

  private:
    void write(std::string_view text) {
        budget_.make(text.size());
        out_ += text;
    }

    size_t count() const { return values_.is_tuple() ? values_.items().size() : 1; }

    const Value& next_value(const Conversion& conversion) {
        if (!conversion.name.empty()) {
            const Value* found = values_.is_dict() ? values_.dict().find(conversion.name) : nullptr;
            if (found == nullptr) throw Fault(fmt::format("no value {} to format", quote(conversion.name)));
            return *found;
        }
        if (used_ == count()) throw Fault(fmt::format("expected more than {} values to format", used_));
        return values_.is_tuple() ? values_.items()[used_++] : (++used_, values_);
    }

    // 0 where there are no digits.
    int number() {
        if (rest_.starts_with('-')) return 0;
        int value = 0;
        const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
        if (end == rest_.data()) return 0;
        if (error != std::errc() || value > kWidest) {
            throw Fault(fmt::format("expected a width of at most {} in a format", kWidest));
        }
        rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
        return value;
    }

    Conversion read() {
        rest_.remove_prefix(1);
        Conversion result;
        if (rest_.starts_with('(')) {
            const size_t end = rest_.find(')');
            if (end == rest_.npos) throw Fault("expected ')' after a name in a format");
            result.name = rest_.substr(1, end - 1);
            rest_.remove_prefix(end + 1);
        }
        const size_t flags = std::min(rest_.find_first_not_of("-+ #0"), rest_.size());
        for (const char flag : rest_.substr(0, flags)) {
            if (result.flags.find(flag) == std::string::npos) result.flags += flag;
        }
        rest_.remove_prefix(flags);
        result.width = number();
        if (rest_.starts_with('.')) {
            rest_.remove_prefix(1);
            result.precision = number();
        }
        if (rest_.empty()) throw Fault("a format ends inside a conversion");
        result.letter = rest_[0];
        rest_.remove_prefix(1);
        return result;
    }

    void convert() {
        const Conversion conversion = read();
        if (conversion.letter == '%') return write("%");
        const Value& value = next_value(conversion);
        switch (conversion.letter) {
            case 's':
                return text(conversion, to_text(value, budget_));
            case 'r':
                return text(conversion, to_repr(value, budget_));
            case 'c':
                return character(conversion, value);
            case 'd':
            case 'i':
            case 'u':
            case 'x':
            case 'X':
            case 'o':
                return whole(conversion, value);
            case 'e':
            case 'E':
            case 'f':
            case 'F':
            case 'g':
            case 'G':
                return real(conversion, value);
            default:
                throw Fault(fmt::format("unknown conversion %{} in a format",
                                        quote(std::string_view(&conversion.letter, 1))));
        }
    }

    void text(const Conversion& conversion, std::string_view shown) {
        if (conversion.precision >= 0) {
            shown = shown.substr(0, offset_of_character(shown, static_cast<size_t>(conversion.precision)));
        }
        const size_t length = count_characters(shown);
        const auto width = static_cast<size_t>(conversion.width);
        const std::string padding(width > length ? width - length : 0, ' ');
        const bool left = conversion.flags.find('-') != std::string::npos;
        write(left ? std::string(shown) + padding : padding + std::string(shown));
    }

    void character(const Conversion& conversion, const Value& value) {
        if (!value.is_text() || count_characters(value.text()) != 1) {
            throw Fault("expected one character for %c in a format");
        }
        text(conversion, value.text());
    }

    // The conversion in C's words, which mean the same.
    static std::string c_format(const Conversion& conversion, std::string_view letter) {
        std::string format =
            fmt::format("%{}{}", conversion.flags,
                        conversion.width > 0 ? std::to_string(conversion.width) : std::string());
        if (conversion.precision >= 0) format += fmt::format(".{}", conversion.precision);
        return format.append(letter);
    }

    double number_of(const Conversion& conversion, const Value& value) const {
        if (value.is_number()) return value.real();
        throw Fault(fmt::format("expected a number for %{} in a format, found {}", conversion.letter,
                                value.type_name()));
    }

    void whole(const Conversion& conversion, const Value& value) {
        const double real = number_of(conversion, value);
        const bool decimal = std::string_view("diu").find(conversion.letter) != std::string_view::npos;
        if (!value.integer() && (!decimal || !(std::abs(real) < 9e18))) {
            throw Fault(fmt::format("expected an integer for %{} in a format", conversion.letter));
        }
        const int64_t number = value.integer() ? *value.integer() : static_cast<int64_t>(real);
        if (decimal) return write(fmt::sprintf(c_format(conversion, "d"), number));
        if (number < 0)
            throw Fault(fmt::format("expected no negative number for %{} in a format", conversion.letter));
        write(fmt::sprintf(c_format(conversion, std::string_view(&conversion.letter, 1)), number));
    }

    void real(const Conversion& conversion, const Value& value) {
        write(fmt::sprintf(c_format(conversion, std::string_view(&conversion.letter, 1)),
                           number_of(conversion, value)));
    }

    std::string_view rest_;
    const Value& values_;
    Budget& budget_;
    std::string out_;
    size_t used_ = 0;
};

const Value& field_value(std::string_view field, const Arguments& arguments, size_t& automatic) {
    if (field.find_first_of("!:.[") != field.npos) {
        throw Fault(fmt::format(
            "the field {} of a format is not supported; known are {{}}, {{0}} and {{name}}", quote(field)));
    }
    size_t index = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), index);
    const bool numbered = !field.empty() && error == std::errc() && end == field.data() + field.size();
    if (field.empty() || numbered) {
        if (field.empty()) index = automatic++;
        if (index < arguments.positional.size()) return arguments.positional[index];
    }
    const auto named = std::ranges::find(arguments.named, field,
                                         [](const auto& pair) { return std::string_view(pair.first); });
    if (field.empty() || named == arguments.named.end()) {
        throw Fault(fmt::format("no value for the field {{{}}} of a format", field));
    }
    return named->second;
}

}  // namespace

Value printf_text(std::string_view format, const Value& values, Budget& budget) {
    return Value(Printf(format, values, budget).run());
}

Value format_text(std::string_view format, const Arguments& arguments, Budget& budget) {
    std::string out;
    size_t automatic = 0;
    while (!format.empty()) {
        const size_t plain = std::min(format.find_first_of("{}"), format.size());
        budget.make(plain);
        out += format.substr(0, plain);
        format.remove_prefix(plain);
        if (format.empty()) break;
        if (format.size() > 1 && format[0] == format[1]) {  // {{ or }}
            out += format[0];
            format.remove_prefix(2);
            continue;
        }
        const size_t end = format.find('}');
        if (format[0] == '}' || end == format.npos)
            throw Fault("a format has a brace without its other half");
        out += to_text(field_value(format.substr(1, end - 1), arguments, automatic), budget);
        format.remove_prefix(end + 1);
    }
    return Value(std::move(out));
}

}  // namespace plait::text::jinja
