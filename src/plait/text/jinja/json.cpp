#include "plait/text/jinja/json.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "plait/base/error.h"
#include "plait/text/jinja/budget.h"
#include "plait/text/jinja/fault.h"

namespace plait::text::jinja {
namespace {

using Json = nlohmann::ordered_json;

Value value_of(const Json& json, int depth);

std::vector<Value> items_of(const Json& json, int depth) {
    std::vector<Value> items;
    for (const Json& item : json) items.push_back(value_of(item, depth));
    return items;
}

Value dict_of(const Json& json, int depth) {
    std::vector<Dict::Entry> entries;
    for (const auto& [key, value] : json.items()) entries.emplace_back(Value(key), value_of(value, depth));
    return Value(Dict(std::move(entries)));
}

Value number_of(const Json& json) {
    if (json.is_number_float()) return Value(json.get<double>());
    constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    if (json.is_number_unsigned() && json.get<uint64_t>() > kMost) return Value(json.get<double>());
    return Value(json.get<int64_t>());
}

Value value_of(const Json& json, int depth) {
    if (depth > kMaxValueDepth)
        throw Fault(fmt::format("more than {} values inside one another", kMaxValueDepth));
    if (json.is_null()) return Value(None());
    if (json.is_boolean()) return Value(json.get<bool>());
    if (json.is_number()) return number_of(json);
    if (json.is_string()) return Value(json.get<std::string>());
    return json.is_array() ? Value::list(items_of(json, depth + 1)) : dict_of(json, depth + 1);
}

}  // namespace

Value parse_json(std::string_view json) {
    try {
        return value_of(Json::parse(json), 0);
    } catch (const Json::exception& error) {
        throw Error(fmt::format("expected JSON: {}", error.what()));
    } catch (const Fault& fault) {
        throw Error(fmt::format("JSON: {}", fault.message()));
    }
}

}  // namespace plait::text::jinja
