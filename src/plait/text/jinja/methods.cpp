#include "plait/text/jinja/methods.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "plait/text/jinja/access.h"
#include "plait/text/jinja/builtin.h"
#include "plait/text/jinja/fault.h"
#include "plait/text/jinja/operators.h"
#include "plait/text/jinja/text_methods.h"

namespace plait::text::jinja {
namespace {

constexpr std::array<std::string_view, 8> kChangeLists = {"append", "clear",  "extend",  "insert",
                                                          "pop",    "remove", "reverse", "sort"};
constexpr std::array<std::string_view, 5> kChangeDicts = {"clear", "pop", "popitem", "setdefault", "update"};

Value position_in(Call& call) {
    const auto& items = call.self().items();
    for (size_t i = 0; i < items.size(); ++i) {
        if (equal(items[i], call[0], call.budget())) return Value(i);
    }
    throw Fault("index: the value is not in the list");
}

Value count_in(Call& call) {
    return Value(std::ranges::count_if(
        call.self().items(), [&](const Value& item) { return equal(item, call[0], call.budget()); }));
}

Value itself(Call& call) { return call.self(); }

Value view(Call& call, const char* type, Value (*of)(const Dict::Entry&)) {
    std::vector<Value> items;
    call.budget().make(call.self().dict().size() * 2 * sizeof(Value));
    for (const auto& entry : call.self().dict().entries()) items.push_back(of(entry));
    return Value(std::make_shared<Iterable>(Iterable::Kind::view, type, std::move(items)));
}

Value keys(Call& call) {
    return view(call, "dict_keys", [](const Dict::Entry& entry) { return entry.first; });
}
Value values(Call& call) {
    return view(call, "dict_values", [](const Dict::Entry& entry) { return entry.second; });
}
Value items(Call& call) {
    return view(call, "dict_items", [](const Dict::Entry& entry) {
        return Value::tuple({entry.first, entry.second});
    });
}

Value get(Call& call) {
    if (!call[0].is_undefined() && !Dict::can_be_key(call[0])) {
        throw Fault(fmt::format("a {} cannot be a key", call[0].type_name()));
    }
    const Value* found = call[0].is_undefined() ? nullptr : call.self().dict().find(call[0]);
    if (found != nullptr) return *found;
    return call.has(1) ? call[1] : Value(None());
}

constexpr std::array<Builtin, 2> kTupleMethods = {
    {{"count", "value", 1, count_in}, {"index", "value", 1, position_in}}};
constexpr std::array<Builtin, 3> kListMethods = {
    {{"copy", "", 0, itself}, {"count", "value", 1, count_in}, {"index", "value", 1, position_in}}};
constexpr std::array<Builtin, 5> kDictMethods = {{{"copy", "", 0, itself},
                                                  {"get", "key default", 1, get},
                                                  {"items", "", 0, items},
                                                  {"keys", "", 0, keys},
                                                  {"values", "", 0, values}}};

std::span<const Builtin> methods_of(const Value& object) {
    if (object.is_text()) return text_methods();
    if (object.is_list()) return kListMethods;
    if (object.is_tuple()) return kTupleMethods;
    if (object.is_dict()) return kDictMethods;
    return {};
}

bool changes(const Value& object, std::string_view name) {
    if (object.is_list()) return std::ranges::find(kChangeLists, name) != kChangeLists.end();
    return object.is_dict() && std::ranges::find(kChangeDicts, name) != kChangeDicts.end();
}

}  // namespace

std::optional<Value> builtin_attribute(const Value& object, std::string_view name, Context& context) {
    context.budget().step();
    if (object.is_object()) return object.object().attribute(name);
    if (const Builtin* method = find_builtin(methods_of(object), name))
        return bound(*method, object, context);
    if (!changes(object, name)) return std::nullopt;
    return Value(Undefined{std::make_shared<const std::string>(
        fmt::format("access to attribute '{}' of '{}' object is unsafe", name, object.type_name()))});
}

}  // namespace plait::text::jinja
