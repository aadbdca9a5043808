#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "plait/text/jinja/access.h"
#include "plait/text/jinja/fault.h"
#include "plait/text/jinja/filters.h"
#include "plait/text/jinja/methods.h"
#include "plait/text/jinja/operators.h"
#include "plait/text/jinja/unicode.h"

namespace plait::text::jinja {
namespace {

Value standard(Call& call) {
    const bool boolean = call.flag(1, false);
    const bool kept = !call.self().is_undefined() && (!boolean || is_true(call.self()));
    return kept ? call.self() : call.has(0) ? call[0] : Value("");
}

Value length(Call& call) { return Value(length_of(call.self(), call.budget())); }

Value list(Call& call) { return Value::list(items_of(call.self(), call.budget())); }

Value no_item(const char* which) {
    return Value(Undefined{
        std::make_shared<const std::string>(fmt::format("no {} item, the sequence was empty", which))});
}

Value first(Call& call) {
    if (auto* iterable = call.self().object_as<Iterable>()) {
        const auto item = iterable->take_one();
        return item ? *item : no_item("first");
    }
    const auto items = items_of(call.self(), call.budget());
    return items.empty() ? no_item("first") : items.front();
}

Value last(Call& call) {
    const auto* iterable = call.self().object_as<Iterable>();
    if (iterable != nullptr && iterable->kind() == Iterable::Kind::iterator) {
        throw Fault("last expects a list, found an iterator; put |list before it");
    }
    const auto items = items_of(call.self(), call.budget());
    return items.empty() ? no_item("last") : items.back();
}

Value reverse(Call& call) {
    if (call.self().is_text()) {
        auto all = characters(call.self().text());
        std::string turned;
        for (auto at = all.rbegin(); at != all.rend(); ++at) turned += *at;
        return call.made(std::move(turned));
    }
    auto items = items_of(call.self(), call.budget());
    std::ranges::reverse(items);
    return Iterable::iterator(std::move(items));
}

Value items(Call& call) {
    if (call.self().is_undefined()) return Iterable::iterator({});
    if (!call.self().is_dict()) {
        throw Fault(fmt::format("items expects a dict, found {}", call.self().type_name()));
    }
    std::vector<Value> pairs;
    call.budget().make(call.self().dict().size() * 4 * sizeof(Value));
    for (const auto& [key, value] : call.self().dict().entries()) pairs.push_back(Value::tuple({key, value}));
    return Iterable::iterator(std::move(pairs));
}

Value batch(Call& call) {
    const int64_t size = call.integer(0, 0);
    if (size < 1) throw Fault("batch expects at least 1 as 'linecount'");
    std::vector<Value> batches;
    std::vector<Value> line;
    for (const Value& item : items_of(call.self(), call.budget())) {
        if (static_cast<int64_t>(line.size()) == size)
            batches.push_back(call.made_list(std::exchange(line, {})));
        line.push_back(item);
    }
    if (!line.empty() && call.has(1) && !call[1].is_none()) {
        call.budget().make(static_cast<size_t>(size) * sizeof(Value));
        line.resize(static_cast<size_t>(size), call[1]);
    }
    if (!line.empty()) batches.push_back(call.made_list(std::move(line)));
    return Iterable::iterator(std::move(batches));
}

// Unlike object.name, never a dict's key.
Value attribute(Call& call) {
    require_defined(call.self());
    if (auto found = builtin_attribute(call.self(), call.text(0), call.context())) return *found;
    return undefined_name(call.text(0));
}

constexpr std::array<Builtin, 11> kFilters = {{{"attr", "name", 1, attribute},
                                               {"batch", "linecount fill_with", 1, batch},
                                               {"count", "", 0, length},
                                               {"d", "default_value boolean", 0, standard},
                                               {"default", "default_value boolean", 0, standard},
                                               {"first", "", 0, first},
                                               {"items", "", 0, items},
                                               {"last", "", 0, last},
                                               {"length", "", 0, length},
                                               {"list", "", 0, list},
                                               {"reverse", "", 0, reverse}}};

}  // namespace

std::span<const Builtin> item_filters() { return kFilters; }

}  // namespace plait::text::jinja
