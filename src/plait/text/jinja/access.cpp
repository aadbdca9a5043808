#include "plait/text/jinja/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "plait/text/jinja/context.h"
#include "plait/text/jinja/fault.h"
#include "plait/text/jinja/methods.h"
#include "plait/text/jinja/operators.h"
#include "plait/text/jinja/print.h"
#include "plait/text/jinja/unicode.h"

namespace plait::text::jinja {
namespace {

Value undefined_because(std::string why) {
    return Value(Undefined{std::make_shared<const std::string>(std::move(why))});
}

std::string object_name(const Value& object) {
    return object.is_none() ? "None" : fmt::format("'{} object'", object.type_name());
}

std::vector<Value> characters_of(const std::string& text, Budget& budget) {
    std::vector<Value> items;
    for (const std::string_view character : characters(text)) {
        budget.make(sizeof(Value) + 48);
        items.emplace_back(character);
    }
    return items;
}

// Python's index: negative ones count from the end. Nothing if it is outside.
std::optional<size_t> within(int64_t index, size_t size) {
    const auto count = static_cast<int64_t>(size);
    if (index < 0) index += count;
    return index < 0 || index >= count ? std::nullopt : std::optional(static_cast<size_t>(index));
}

std::optional<Value> indexed(const Value& object, int64_t index, Budget& budget) {
    if (object.is_sequence()) {
        const auto at = within(index, object.items().size());
        return at ? std::optional(object.items()[*at]) : std::nullopt;
    }
    if (object.is_text()) {
        budget.look_at(object.text().size());
        const auto at = within(index, count_characters(object.text()));
        if (!at) return std::nullopt;
        const std::string_view rest =
            std::string_view(object.text()).substr(offset_of_character(object.text(), *at));
        return Value(first_character(rest).bytes);
    }
    const auto* iterable = object.object_as<Iterable>();
    if (iterable == nullptr || iterable->kind() != Iterable::Kind::range) return std::nullopt;
    const auto at = within(index, iterable->all().size());
    return at ? std::optional(iterable->all()[*at]) : std::nullopt;
}

// The positions a slice takes, as Python computes them.
std::vector<size_t> slice_positions(size_t size, const Value& start, const Value& stop, const Value& step) {
    const auto given = [](const Value& bound) -> std::optional<int64_t> {
        if (bound.is_none() || bound.is_undefined()) return std::nullopt;
        if (const auto whole = bound.integer()) return whole;
        throw Fault(fmt::format("expected integers in a slice, found {}", bound.type_name()));
    };
    const int64_t by = given(step).value_or(1);
    if (by == 0) throw Fault("the step of a slice cannot be zero");
    const auto count = static_cast<int64_t>(size);
    const int64_t lowest = by > 0 ? 0 : -1, highest = by > 0 ? count : count - 1;
    const auto bounded = [&](std::optional<int64_t> bound, int64_t standard) {
        if (!bound) return standard;
        return std::clamp(*bound < 0 ? *bound + count : *bound, lowest, highest);
    };
    const int64_t from = bounded(given(start), by > 0 ? lowest : highest);
    const int64_t to = bounded(given(stop), by > 0 ? highest : lowest);
    std::vector<size_t> positions;
    for (int64_t at = from; by > 0 ? at < to : at > to;) {
        positions.push_back(static_cast<size_t>(at));
        if (__builtin_add_overflow(at, by, &at)) break;
    }
    return positions;
}

Value slice_of_text(const std::string& text, const Value& start, const Value& stop, const Value& step,
                    Budget& budget) {
    budget.make(text.size());
    const auto all = characters(text);
    std::string result;
    for (const size_t at : slice_positions(all.size(), start, stop, step)) result += all[at];
    return Value(std::move(result));
}

std::vector<Value> slice_of_items(const std::vector<Value>& items, const Value& start, const Value& stop,
                                  const Value& step, Budget& budget) {
    std::vector<Value> result;
    const auto positions = slice_positions(items.size(), start, stop, step);
    budget.make(positions.size() * sizeof(Value));
    for (const size_t at : positions) result.push_back(items[at]);
    return result;
}

Value missing(const Value& object, const Value& key, Budget& budget) {
    const std::string what = to_repr(key, budget);
    return undefined_because(
        fmt::format("{} has no {} {}", object_name(object), key.is_text() ? "attribute" : "element", what));
}

}  // namespace

Value undefined_name(std::string_view name) {
    return undefined_because(fmt::format("'{}' is undefined", name));
}

std::vector<Value> items_of(const Value& value, Budget& budget) {
    if (value.is_undefined()) return {};
    if (value.is_text()) return characters_of(value.text(), budget);
    if (value.is_sequence()) {
        budget.make(value.items().size() * sizeof(Value));
        return value.items();
    }
    if (value.is_dict()) {
        std::vector<Value> keys;
        budget.make(value.dict().size() * sizeof(Value));
        for (const auto& [key, item] : value.dict().entries()) keys.push_back(key);
        return keys;
    }
    auto* iterable = value.object_as<Iterable>();
    if (iterable == nullptr)
        throw Fault(fmt::format("expected something to iterate over, found {}", value.type_name()));
    budget.make(iterable->all().size() * sizeof(Value));
    return iterable->take();
}

int64_t length_of(const Value& value, Budget& budget) {
    if (value.is_undefined()) return 0;
    if (value.is_text()) {
        budget.look_at(value.text().size());
        return static_cast<int64_t>(count_characters(value.text()));
    }
    if (value.is_sequence()) return static_cast<int64_t>(value.items().size());
    if (value.is_dict()) return static_cast<int64_t>(value.dict().size());
    const auto* iterable = value.object_as<Iterable>();
    if (iterable == nullptr || iterable->kind() == Iterable::Kind::iterator) {
        throw Fault(fmt::format("a {} has no length", value.type_name()));
    }
    return static_cast<int64_t>(iterable->all().size());
}

Value item_of(const Value& object, const Value& key, Context& context) {
    require_defined(object);
    if (object.is_dict() && Dict::can_be_key(key)) {
        if (const Value* found = object.dict().find(key)) return *found;
    } else if (const auto index = key.integer()) {
        if (auto found = indexed(object, *index, context.budget())) return *found;
    }
    if (key.is_text()) {
        if (auto found = builtin_attribute(object, key.text(), context)) return *found;
    }
    require_defined(key);
    return missing(object, key, context.budget());
}

Value attribute_of(const Value& object, std::string_view name, Context& context) {
    require_defined(object);
    if (auto found = builtin_attribute(object, name, context)) return *found;
    if (object.is_dict()) {
        if (const Value* found = object.dict().find(name)) return *found;
    }
    return missing(object, Value(name), context.budget());
}

Value slice_of(const Value& object, const Value& start, const Value& stop, const Value& step,
               Budget& budget) {
    require_defined(object);
    if (object.is_text()) return slice_of_text(object.text(), start, stop, step, budget);
    if (object.is_list()) return Value::list(slice_of_items(object.items(), start, stop, step, budget));
    if (object.is_tuple()) return Value::tuple(slice_of_items(object.items(), start, stop, step, budget));
    const auto* iterable = object.object_as<Iterable>();
    if (iterable == nullptr || iterable->kind() != Iterable::Kind::range) {
        throw Fault(fmt::format("cannot take a slice of a {}", object.type_name()));
    }
    return Value(std::make_shared<Iterable>(Iterable::Kind::range, "range",
                                            slice_of_items(iterable->all(), start, stop, step, budget)));
}

}  // namespace plait::text::jinja
