#include "plait/text/jinja/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plait/text/jinja/access.h"
#include "plait/text/jinja/fault.h"
#include "plait/text/jinja/printf.h"
#include "plait/text/jinja/unicode.h"

namespace plait::text::jinja {
namespace {

constexpr std::string_view symbol(BinaryOp op) {
    switch (op) {
        case BinaryOp::add:
            return "+";
        case BinaryOp::subtract:
            return "-";
        case BinaryOp::multiply:
            return "*";
        case BinaryOp::divide:
            return "/";
        case BinaryOp::floor_divide:
            return "//";
        case BinaryOp::modulo:
            return "%";
        case BinaryOp::power:
            return "**";
    }
    return "";
}

[[noreturn]] void refuse(std::string_view op, const Value& left, const Value& right) {
    throw Fault(fmt::format("{} is not defined for {} and {}", op, left.type_name(), right.type_name()));
}

// The number by reference: the call that says whether it overflowed may be made after the argument is taken.
Value fitting(bool overflow, const int64_t& number) {
    if (overflow) throw Fault("the result does not fit in 64 bits");
    return Value(number);
}

void require_divisor(bool is_zero) {
    if (is_zero) throw Fault("division by zero");
}

// Python rounds towards minus infinity, and the remainder has the divisor's sign.
Value floor_divide(int64_t a, int64_t b) {
    require_divisor(b == 0);
    if (b == -1) return negative(Value(a));
    const int64_t quotient = a / b;
    return Value(quotient - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0));
}

Value modulo(int64_t a, int64_t b) {
    require_divisor(b == 0);
    if (b == -1) return Value(0);
    const int64_t rest = a % b;
    return Value(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
}

Value real_power(double a, double b) {
    require_divisor(a == 0 && b < 0);
    const double result = std::pow(a, b);
    if (std::isnan(result) && !std::isnan(a) && !std::isnan(b))
        throw Fault("the result of ** is no real number");
    if (std::isinf(result) && !std::isinf(a) && !std::isinf(b)) throw Fault("the result of ** is too large");
    return Value(result);
}

Value power(int64_t base, int64_t exponent) {
    if (exponent < 0) return real_power(static_cast<double>(base), static_cast<double>(exponent));
    int64_t result = 1;
    bool overflow = false;
    bool base_overflow = false;  // matters if the base is used once more
    for (; exponent > 0; exponent >>= 1) {
        if (exponent & 1) overflow = base_overflow || __builtin_mul_overflow(result, base, &result);
        if (overflow) break;
        base_overflow = base_overflow || __builtin_mul_overflow(base, base, &base);
    }
    return fitting(overflow, result);
}

Value integer_operation(BinaryOp op, int64_t a, int64_t b) {
    int64_t result = 0;
    switch (op) {
        case BinaryOp::add:
            return fitting(__builtin_add_overflow(a, b, &result), result);
        case BinaryOp::subtract:
            return fitting(__builtin_sub_overflow(a, b, &result), result);
        case BinaryOp::multiply:
            return fitting(__builtin_mul_overflow(a, b, &result), result);
        case BinaryOp::divide:
            require_divisor(b == 0);
            return Value(static_cast<double>(a) / static_cast<double>(b));
        case BinaryOp::floor_divide:
            return floor_divide(a, b);
        case BinaryOp::modulo:
            return modulo(a, b);
        case BinaryOp::power:
            return power(a, b);
    }
    return Value();
}

double real_modulo(double a, double b) {
    require_divisor(b == 0);
    const double rest = std::fmod(a, b);
    if (rest == 0) return std::copysign(0.0, b);
    return (rest < 0) != (b < 0) ? rest + b : rest;
}

Value real_operation(BinaryOp op, double a, double b) {
    switch (op) {
        case BinaryOp::add:
            return Value(a + b);
        case BinaryOp::subtract:
            return Value(a - b);
        case BinaryOp::multiply:
            return Value(a * b);
        case BinaryOp::divide:
            require_divisor(b == 0);
            return Value(a / b);
        case BinaryOp::floor_divide:
            require_divisor(b == 0);
            return Value(std::floor((a - real_modulo(a, b)) / b + 0.5));
        case BinaryOp::modulo:
            return Value(real_modulo(a, b));
        case BinaryOp::power:
            return real_power(a, b);
    }
    return Value();
}

size_t repeated_size(size_t size, int64_t count, size_t unit) {
    size_t total = 0;
    const auto times = static_cast<size_t>(std::max<int64_t>(count, 0));
    if (__builtin_mul_overflow(size, times, &total) || total > SIZE_MAX / 2 / unit) {
        throw Fault("the result of * is too large");
    }
    return total;
}

Value repeat_text(const std::string& text, int64_t count, Budget& budget) {
    const size_t bytes = repeated_size(text.size(), count, 1);
    budget.make(bytes);
    std::string result;
    result.reserve(bytes);
    while (result.size() < bytes) result += text;
    return Value(std::move(result));
}

std::vector<Value> repeat_items(const std::vector<Value>& items, int64_t count, Budget& budget) {
    const size_t size = repeated_size(items.size(), count, sizeof(Value));
    budget.make(size * sizeof(Value));
    std::vector<Value> result;
    result.reserve(size);
    while (result.size() < size) result.insert(result.end(), items.begin(), items.end());
    return result;
}

Value multiply(const Value& thing, int64_t count, Budget& budget) {
    if (thing.is_text()) return repeat_text(thing.text(), count, budget);
    auto items = repeat_items(thing.items(), count, budget);
    return thing.is_list() ? Value::list(std::move(items)) : Value::tuple(std::move(items));
}

std::vector<Value> joined(const std::vector<Value>& left, const std::vector<Value>& right, Budget& budget) {
    budget.make((left.size() + right.size()) * sizeof(Value));
    std::vector<Value> result(left);
    result.insert(result.end(), right.begin(), right.end());
    return result;
}

// Operators of texts and containers; undefined where there is none.
Value other_operation(BinaryOp op, const Value& left, const Value& right, Budget& budget) {
    if (op == BinaryOp::add && left.is_text() && right.is_text()) {
        budget.make(left.text().size() + right.text().size());
        return Value(left.text() + right.text());
    }
    if (op == BinaryOp::add && left.is_list() && right.is_list()) {
        return Value::list(joined(left.items(), right.items(), budget));
    }
    if (op == BinaryOp::add && left.is_tuple() && right.is_tuple()) {
        return Value::tuple(joined(left.items(), right.items(), budget));
    }
    const auto repeatable = [](const Value& value) { return value.is_text() || value.is_sequence(); };
    if (op == BinaryOp::multiply && repeatable(left) && right.integer()) {
        return multiply(left, *right.integer(), budget);
    }
    if (op == BinaryOp::multiply && left.integer() && repeatable(right)) {
        return multiply(right, *left.integer(), budget);
    }
    if (op == BinaryOp::modulo && left.is_text()) return printf_text(left.text(), right, budget);
    refuse(symbol(op), left, right);
}

bool equal_numbers(const Value& left, const Value& right) {
    const bool has_nan =
        (left.is_float() && std::isnan(left.real())) || (right.is_float() && std::isnan(right.real()));
    return !has_nan && Dict::compare_keys(left, right) == 0;
}

bool equal_items(const std::vector<Value>& left, const std::vector<Value>& right, Budget& budget) {
    return left.size() == right.size() &&
           std::ranges::equal(left, right,
                              [&](const Value& a, const Value& b) { return equal(a, b, budget); });
}

bool equal_dicts(const Dict& left, const Dict& right, Budget& budget) {
    return left.size() == right.size() && std::ranges::all_of(left.entries(), [&](const Dict::Entry& entry) {
               const Value* other = right.find(entry.first);
               return other != nullptr && equal(entry.second, *other, budget);
           });
}

std::partial_ordering order_items(const std::vector<Value>& left, const std::vector<Value>& right,
                                  Budget& budget) {
    for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
        if (!equal(left[i], right[i], budget)) return order(left[i], right[i], budget);
    }
    return left.size() <=> right.size();
}

}  // namespace

void require_defined(const Value& value) {
    if (!value.is_undefined()) return;
    throw Fault(value.undefined().why ? *value.undefined().why : "the value is undefined");
}

bool is_true(const Value& value) {
    if (value.is_undefined() || value.is_none()) return false;
    if (value.is_number()) return value.is_float() ? value.real() != 0 : *value.integer() != 0;
    if (value.is_text()) return !value.text().empty();
    if (value.is_sequence()) return !value.items().empty();
    if (value.is_dict()) return value.dict().size() > 0;
    const auto* iterable = value.object_as<Iterable>();
    return iterable == nullptr || iterable->kind() == Iterable::Kind::iterator || !iterable->all().empty();
}

Value binary(BinaryOp op, const Value& left, const Value& right, Budget& budget) {
    const bool formats = op == BinaryOp::modulo && left.is_text();
    require_defined(left);
    if (!formats) require_defined(right);
    const auto a = left.integer(), b = right.integer();
    if (a && b) return integer_operation(op, *a, *b);
    if (left.is_number() && right.is_number()) return real_operation(op, left.real(), right.real());
    return other_operation(op, left, right, budget);
}

Value add(const Value& left, const Value& right, Budget& budget) {
    return binary(BinaryOp::add, left, right, budget);
}

Value negative(const Value& value) {
    require_defined(value);
    if (const auto whole = value.integer()) return integer_operation(BinaryOp::subtract, 0, *whole);
    if (value.is_float()) return Value(-value.real());
    throw Fault(fmt::format("a sign is not defined for {}", value.type_name()));
}

bool equal(const Value& left, const Value& right, Budget& budget) {
    budget.step();
    if (left.is_number() && right.is_number()) return equal_numbers(left, right);
    if (left.is_undefined() || left.is_none()) {
        return left.is_undefined() == right.is_undefined() && left.is_none() == right.is_none();
    }
    if (left.same_storage(right)) return true;
    if (left.is_text() && right.is_text()) {
        budget.look_at(std::min(left.text().size(), right.text().size()));
        return left.text() == right.text();
    }
    const bool same_kind = (left.is_list() && right.is_list()) || (left.is_tuple() && right.is_tuple());
    if (same_kind) return equal_items(left.items(), right.items(), budget);
    return left.is_dict() && right.is_dict() && equal_dicts(left.dict(), right.dict(), budget);
}

std::partial_ordering order(const Value& left, const Value& right, Budget& budget) {
    budget.step();
    require_defined(left);
    require_defined(right);
    if (left.is_number() && right.is_number()) {
        if (left.is_float() || right.is_float()) {
            if (std::isnan(left.real()) || std::isnan(right.real())) return std::partial_ordering::unordered;
        }
        return Dict::compare_keys(left, right);
    }
    if (left.is_text() && right.is_text()) {
        budget.look_at(std::min(left.text().size(), right.text().size()));
        return left.text() <=> right.text();  // UTF-8 sorts as its characters do
    }
    const bool same_kind = (left.is_list() && right.is_list()) || (left.is_tuple() && right.is_tuple());
    if (!same_kind) refuse("an order", left, right);
    return order_items(left.items(), right.items(), budget);
}

bool contains(const Value& container, const Value& item, Budget& budget) {
    if (container.is_text()) {
        if (!item.is_text()) {
            throw Fault(fmt::format("expected a str to look for in a str, found {}", item.type_name()));
        }
        budget.look_at(container.text().size());
        return find_first(container.text(), item.text()) != std::string::npos;
    }
    if (container.is_dict()) {
        budget.step();
        if (item.is_undefined()) return false;
        if (!Dict::can_be_key(item)) throw Fault(fmt::format("a {} cannot be a key", item.type_name()));
        return container.dict().find(item) != nullptr;
    }
    const auto is_it = [&](const Value& other) { return equal(other, item, budget); };
    if (container.is_sequence()) return std::ranges::any_of(container.items(), is_it);
    return std::ranges::any_of(items_of(container, budget), is_it);
}

bool compare(CompareOp op, const Value& left, const Value& right, Budget& budget) {
    switch (op) {
        case CompareOp::equal:
            return equal(left, right, budget);
        case CompareOp::not_equal:
            return !equal(left, right, budget);
        case CompareOp::less:
            return order(left, right, budget) < 0;
        case CompareOp::less_equal:
            return order(left, right, budget) <= 0;
        case CompareOp::greater:
            return order(left, right, budget) > 0;
        case CompareOp::greater_equal:
            return order(left, right, budget) >= 0;
        case CompareOp::in:
            return contains(right, left, budget);
        case CompareOp::not_in:
            return !contains(right, left, budget);
    }
    return false;
}

}  // namespace plait::text::jinja
