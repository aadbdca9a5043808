#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "plait/text/jinja/access.h"
#include "plait/text/jinja/fault.h"
#include "plait/text/jinja/filters.h"
#include "plait/text/jinja/operators.h"
#include "plait/text/jinja/print.h"
#include "plait/text/jinja/text_methods.h"
#include "plait/text/jinja/unicode.h"

namespace plait::text::jinja {
namespace {

Value index_or_name(std::string_view part) {
    int64_t index = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool is_index = !part.empty() && error == std::errc() && end == part.data() + part.size();
    return is_index && index >= 0 ? Value(index) : Value(part);
}

// "a.b.0" or a number, followed into an item; nothing given: the item itself.
Value followed(const Value& item, const Value& path, Context& context) {
    if (path.is_undefined() || path.is_none()) return item;
    if (!path.is_text()) return item_of(item, path, context);
    Value value = item;
    for (std::string_view rest = path.text(); true;) {
        const size_t dot = rest.find('.');
        value = item_of(value, index_or_name(rest.substr(0, dot)), context);
        if (dot == rest.npos) return value;
        rest.remove_prefix(dot + 1);
    }
}

// What sorting and comparing look at: texts in lower case unless case counts.
Value comparable(const Value& value, bool case_sensitive, Budget& budget) {
    if (case_sensitive || !value.is_text()) return value;
    budget.make(value.text().size());
    return Value(to_lower(value.text()));
}

std::string known_name(const Value& name) {
    if (!name.is_text()) throw Fault(fmt::format("expected a name, found {}", name.type_name()));
    return name.text();
}

// What is left of the arguments behind the first `count`.
Arguments after(const Arguments& arguments, size_t count) {
    Arguments rest = arguments;
    rest.positional.erase(rest.positional.begin(),
                          rest.positional.begin() + static_cast<std::ptrdiff_t>(count));
    return rest;
}

Value map_attribute(Call& call) {
    Value path, standard;
    for (const auto& [key, value] : call.arguments().named) {
        if (key != "attribute" && key != "default")
            throw Fault(fmt::format("map takes no argument '{}'", key));
        (key == "attribute" ? path : standard) = value;
    }
    std::vector<Value> results;
    for (const Value& item : items_of(call.self(), call.budget())) {
        Value result = followed(item, path, call.context());
        results.push_back(result.is_undefined() && !standard.is_undefined() ? standard : std::move(result));
    }
    return Iterable::iterator(std::move(results));
}

Value map(Call& call) {
    const Arguments& given = call.arguments();
    if (given.positional.empty()) {
        if (given.named.empty()) throw Fault("map needs the name of a filter or attribute=...");
        return map_attribute(call);
    }
    const std::string name = known_name(given.positional[0]);
    const Arguments rest = after(given, 1);
    std::vector<Value> results;
    for (const Value& item : items_of(call.self(), call.budget())) {
        results.push_back(apply_filter(name, item, rest, call.context()));
    }
    return Iterable::iterator(std::move(results));
}

// Items whose test (of the attribute named first, if by_attribute) comes out as wanted.
template <bool by_attribute, bool wanted>
Value select(Call& call) {
    const Arguments& given = call.arguments();
    constexpr size_t kBefore = by_attribute ? 1 : 0;
    if (given.positional.size() < kBefore)
        throw Fault(fmt::format("{} needs the name of an attribute", call.name()));
    const bool has_test = given.positional.size() > kBefore;
    const std::string test = has_test ? known_name(given.positional[kBefore]) : "";
    const Arguments rest = has_test ? after(given, kBefore + 1) : Arguments();
    std::vector<Value> results;
    for (const Value& item : items_of(call.self(), call.budget())) {
        const Value looked_at = by_attribute ? followed(item, given.positional[0], call.context()) : item;
        const bool holds = has_test ? apply_test(test, looked_at, rest, call.context()) : is_true(looked_at);
        if (holds == wanted) results.push_back(item);
    }
    return Iterable::iterator(std::move(results));
}

struct Keyed {
    std::vector<Value> keys;
    Value item;
};

// Stable; reversed, equal items still keep their order, as in Python.
std::vector<Value> sorted(std::vector<Keyed> keyed, bool reverse, Budget& budget) {
    const auto before = [&](const Keyed& a, const Keyed& b) {
        for (size_t i = 0; i < a.keys.size(); ++i) {
            const auto order_of_keys = order(a.keys[i], b.keys[i], budget);
            if (order_of_keys != 0) return reverse ? order_of_keys > 0 : order_of_keys < 0;
        }
        return false;
    };
    std::ranges::stable_sort(keyed, before);
    std::vector<Value> items;
    for (Keyed& entry : keyed) items.push_back(std::move(entry.item));
    return items;
}

std::vector<Value> paths_of(const Value& attribute) {
    std::vector<Value> paths;
    if (!attribute.is_text()) return {attribute};
    for (std::string_view rest = attribute.text(); true;) {
        const size_t comma = rest.find(',');
        paths.emplace_back(rest.substr(0, comma));
        if (comma == rest.npos) return paths;
        rest.remove_prefix(comma + 1);
    }
}

Value sort(Call& call) {
    const auto paths = paths_of(call[2]);
    std::vector<Keyed> keyed;
    for (Value& item : items_of(call.self(), call.budget())) {
        Keyed entry{.item = item};
        for (const Value& path : paths) {
            entry.keys.push_back(
                comparable(followed(item, path, call.context()), call.flag(1, false), call.budget()));
        }
        keyed.push_back(std::move(entry));
    }
    return call.made_list(sorted(std::move(keyed), call.flag(0, false), call.budget()));
}

Value dictsort(Call& call) {
    if (!call.self().is_dict())
        throw Fault(fmt::format("dictsort expects a dict, found {}", call.self().type_name()));
    const std::string by = call.has(1) ? call.text(1) : "key";
    if (by != "key" && by != "value") throw Fault("dictsort expects 'key' or 'value' as 'by'");
    std::vector<Keyed> keyed;
    for (const auto& [key, value] : call.self().dict().entries()) {
        call.budget().make(4 * sizeof(Value));
        keyed.push_back({{comparable(by == "key" ? key : value, call.flag(0, false), call.budget())},
                         Value::tuple({key, value})});
    }
    return call.made_list(sorted(std::move(keyed), call.flag(2, false), call.budget()));
}

struct KeyOrder {
    bool operator()(const Value& a, const Value& b) const { return Dict::compare_keys(a, b) < 0; }
};

Value unique(Call& call) {
    std::set<Value, KeyOrder> seen;
    std::vector<Value> results;
    for (const Value& item : items_of(call.self(), call.budget())) {
        const Value key =
            comparable(followed(item, call[1], call.context()), call.flag(0, false), call.budget());
        if (!Dict::can_be_key(key))
            throw Fault(fmt::format("unique cannot compare values of type {}", key.type_name()));
        if (seen.insert(key).second) results.push_back(item);
    }
    return Iterable::iterator(std::move(results));
}

template <bool largest>
Value extreme(Call& call) {
    std::vector<Value> items = items_of(call.self(), call.budget());
    if (items.empty()) {
        return Value(
            Undefined{std::make_shared<const std::string>("no aggregated item, the sequence was empty")});
    }
    const auto key = [&](const Value& item) {
        return comparable(followed(item, call[1], call.context()), call.flag(0, false), call.budget());
    };
    Value best = items[0], best_key = key(items[0]);
    for (size_t i = 1; i < items.size(); ++i) {
        Value here = key(items[i]);
        const auto order_of_keys = order(here, best_key, call.budget());
        if (largest ? order_of_keys > 0 : order_of_keys < 0) {
            best = items[i];
            best_key = std::move(here);
        }
    }
    return best;
}

Value sum(Call& call) {
    Value total = call.has(1) ? call[1] : Value(0);
    if (total.is_text()) throw Fault("sum cannot add strs; use join");
    for (const Value& item : items_of(call.self(), call.budget())) {
        total = add(total, followed(item, call[0], call.context()), call.budget());
    }
    return total;
}

Value join(Call& call) {
    const std::string separator = call.has(0) ? to_text(call[0], call.budget()) : "";
    std::string result;
    bool first = true;
    for (const Value& item : items_of(call.self(), call.budget())) {
        const std::string text = to_text(followed(item, call[1], call.context()), call.budget());
        call.budget().make(text.size() + separator.size());
        if (!first) result += separator;
        result += text;
        first = false;
    }
    return Value(std::move(result));
}

constexpr std::array<Builtin, 12> kFilters = {{{"dictsort", "case_sensitive by reverse", 0, dictsort},
                                               {"join", "d attribute", 0, join},
                                               {"map", "*", 0, map},
                                               {"max", "case_sensitive attribute", 0, extreme<true>},
                                               {"min", "case_sensitive attribute", 0, extreme<false>},
                                               {"reject", "*", 0, select<false, false>},
                                               {"rejectattr", "*", 0, select<true, false>},
                                               {"select", "*", 0, select<false, true>},
                                               {"selectattr", "*", 0, select<true, true>},
                                               {"sort", "reverse case_sensitive attribute", 0, sort},
                                               {"sum", "attribute start", 0, sum},
                                               {"unique", "case_sensitive attribute", 0, unique}}};

}  // namespace

std::span<const Builtin> query_filters() { return kFilters; }

}  // namespace plait::text::jinja
