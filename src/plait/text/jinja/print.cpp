#include "plait/text/jinja/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "plait/text/jinja/fault.h"
#include "plait/text/jinja/unicode.h"

namespace plait::text::jinja {
namespace {

std::string scientific_text(double number) {
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::scientific).ptr;
    return {buffer, end};
}

std::string fixed_text(double number) {
    char buffer[64];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::fixed).ptr;
    std::string text(buffer, end);
    return text.find('.') == std::string::npos ? text + ".0" : text;
}

class Repr {
  public:
    explicit Repr(Budget& budget) : budget_(budget) {}

    std::string take() { return std::move(out_); }

    void add(const Value& value) {
        budget_.step();
        if (value.is_text()) {
            add_quoted(value.text());
        } else if (value.is_list()) {
            add_items(value.items(), "[", "]");
        } else if (value.is_tuple()) {
            add_items(value.items(), "(", value.items().size() == 1 ? ",)" : ")");
        } else if (value.is_dict()) {
            add_dict(value.dict());
        } else if (value.is_object()) {
            add_object(value);
        } else {
            write(value.is_undefined() ? "Undefined" : to_text(value, budget_));
        }
    }

  private:
    void write(std::string_view text) {
        budget_.make(text.size());
        out_ += text;
    }

    void add_items(const std::vector<Value>& items, std::string_view open, std::string_view close) {
        write(open);
        for (size_t i = 0; i < items.size(); ++i) {
            if (i > 0) write(", ");
            add(items[i]);
        }
        write(close);
    }

    void add_dict(const Dict& dict) {
        write("{");
        for (size_t i = 0; i < dict.size(); ++i) {
            if (i > 0) write(", ");
            add(dict.entries()[i].first);
            write(": ");
            add(dict.entries()[i].second);
        }
        write("}");
    }

    void add_object(const Value& value) {
        const auto* iterable = value.object_as<Iterable>();
        if (iterable == nullptr) throw Fault(fmt::format("a {} has no text", value.type_name()));
        if (iterable->kind() == Iterable::Kind::iterator)
            throw Fault("an iterator has no text; |list might be missing");
        if (iterable->kind() == Iterable::Kind::range) return write(range_text(iterable->all()));
        write(fmt::format("{}(", value.type_name()));
        add_items(iterable->all(), "[", "])");
    }

    static std::string range_text(const std::vector<Value>& items) {
        if (items.empty()) return "range(0, 0)";
        const int64_t first = *items.front().integer();
        const int64_t step = items.size() > 1 ? *items[1].integer() - first : 1;
        const int64_t end = *items.back().integer() + (step > 0 ? 1 : -1);
        return step == 1 ? fmt::format("range({}, {})", first, end)
                         : fmt::format("range({}, {}, {})", first, end, step);
    }

    void add_quoted(std::string_view text) {
        const char quote = text.find('\'') != text.npos && text.find('"') == text.npos ? '"' : '\'';
        write(std::string_view(&quote, 1));
        for (std::string_view rest = text; !rest.empty();) {
            const Character next = first_character(rest);
            rest.remove_prefix(next.bytes.size());
            write(escaped(next, quote));
        }
        write(std::string_view(&quote, 1));
    }

    static std::string escaped(const Character& c, char quote) {
        if (c.code == static_cast<char32_t>(quote) || c.code == '\\') return '\\' + std::string(c.bytes);
        if (c.code == '\n') return "\\n";
        if (c.code == '\r') return "\\r";
        if (c.code == '\t') return "\\t";
        if (is_printable(c.code)) return std::string(c.bytes);
        const auto code = static_cast<uint32_t>(c.code);
        if (code < 0x100) return fmt::format("\\x{:02x}", code);
        return code < 0x10000 ? fmt::format("\\u{:04x}", code) : fmt::format("\\U{:08x}", code);
    }

    Budget& budget_;
    std::string out_;
};

class Json {
  public:
    Json(const JsonStyle& style, Budget& budget) : style_(style), budget_(budget) {}

    std::string take() { return std::move(out_); }

    void add(const Value& value) {
        budget_.step();
        if (value.is_text()) {
            add_text(value.text());
        } else if (value.is_sequence()) {
            add_items(value.items());
        } else if (value.is_dict()) {
            add_dict(value.dict());
        } else {
            write(scalar_text(value));
        }
    }

  private:
    void write(std::string_view text) {
        budget_.make(text.size());
        out_ += text;
    }

    static std::string real_text(double number) {
        if (std::isnan(number)) return "NaN";
        if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
        return float_text(number);
    }

    static std::string scalar_text(const Value& value) {
        if (value.is_none()) return "null";
        if (value.is_bool()) return *value.integer() != 0 ? "true" : "false";
        if (value.is_int()) return std::to_string(*value.integer());
        if (value.is_float()) return real_text(value.real());
        throw Fault(value.is_undefined() && value.undefined().why
                        ? fmt::format("cannot write an undefined value as JSON: {}", *value.undefined().why)
                        : fmt::format("cannot write a {} as JSON", value.type_name()));
    }

    // Starts a line of its own for the next item, if the style has such.
    void new_line() {
        if (!style_.lines) return;
        write("\n");
        for (int i = 0; i < level_; ++i) write(style_.indent);
    }

    template <class Range, class Add>
    void add_all(const Range& range, std::string_view brackets, const Add& add_one) {
        write(brackets.substr(0, 1));
        ++level_;
        bool first = true;
        for (const auto& item : range) {
            if (!first) write(style_.item_separator);
            first = false;
            new_line();
            add_one(item);
        }
        --level_;
        if (!first) new_line();
        write(brackets.substr(1));
    }

    void add_items(const std::vector<Value>& items) {
        add_all(items, "[]", [this](const Value& item) { add(item); });
    }

    void add_dict(const Dict& dict) {
        std::vector<const Dict::Entry*> order;
        for (const auto& entry : dict.entries()) order.push_back(&entry);
        budget_.step(static_cast<int64_t>(order.size()));
        if (style_.sort_keys) {
            std::ranges::sort(order, [](const auto* a, const auto* b) {
                return Dict::compare_keys(a->first, b->first) < 0;
            });
        }
        add_all(order, "{}", [this](const Dict::Entry* entry) {
            const Value& key = entry->first;
            add_text(key.is_text() ? key.text() : scalar_text(key));
            write(style_.key_separator);
            add(entry->second);
        });
    }

    void add_text(std::string_view text) {
        std::string quoted = "\"";
        for (std::string_view rest = text; !rest.empty();) {
            const Character next = first_character(rest);
            rest.remove_prefix(next.bytes.size());
            append_escaped(quoted, next);
        }
        write(quoted += '"');
    }

    void append_escaped(std::string& out, const Character& c) const {
        switch (c.code) {
            case '"':
                out += "\\\"";
                return;
            case '\\':
                out += "\\\\";
                return;
            case '\n':
                out += "\\n";
                return;
            case '\r':
                out += "\\r";
                return;
            case '\t':
                out += "\\t";
                return;
            case '\f':
                out += "\\f";
                return;
            case '\b':
                out += "\\b";
                return;
            default:
                break;
        }
        const auto code = static_cast<uint32_t>(c.code);
        if (code >= 0x20 && (!style_.ascii || code < 0x7F)) {
            out += c.bytes;
        } else if (code < 0x10000) {
            out += fmt::format("\\u{:04x}", code);
        } else {  // two surrogates
            out +=
                fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((code - 0x10000) >> 10), 0xDC00 + (code & 0x3FF));
        }
    }

    const JsonStyle& style_;
    Budget& budget_;
    std::string out_;
    int level_ = 0;
};

}  // namespace

std::string float_text(double number) {
    if (std::isnan(number)) return "nan";
    if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
    const std::string scientific = scientific_text(number);
    const int exponent = std::atoi(scientific.c_str() + scientific.find('e') + 1);
    return number == 0 || (exponent >= -4 && exponent < 16) ? fixed_text(number) : scientific;
}

std::string to_text(const Value& value, Budget& budget) {
    if (value.is_text()) {
        budget.make(value.text().size());
        return value.text();
    }
    if (value.is_undefined()) return "";
    if (value.is_none()) return "None";
    if (value.is_bool()) return *value.integer() != 0 ? "True" : "False";
    if (value.is_int()) return std::to_string(*value.integer());
    if (value.is_float()) return float_text(value.real());
    return to_repr(value, budget);
}

std::string to_repr(const Value& value, Budget& budget) {
    Repr repr(budget);
    repr.add(value);
    return repr.take();
}

std::string to_json(const Value& value, const JsonStyle& style, Budget& budget) {
    Json json(style, budget);
    json.add(value);
    return json.take();
}

}  // namespace plait::text::jinja
