#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "plait/text/jinja/budget.h"
#include "plait/text/jinja/value.h"

// What is inside values: items, slices, attributes. All throw Fault when the budget ends.
namespace plait::text::jinja {

class Context;

// What a loop over the value sees: a text's characters, a dict's keys. Throws Fault for what has none.
std::vector<Value> items_of(const Value& value, Budget& budget);
// Throws Fault for what has none.
int64_t length_of(const Value& value, Budget& budget);

// object[key]; undefined where there is none. Throws Fault for an undefined object.
Value item_of(const Value& object, const Value& key, Context& context);
// object.name: methods, attributes, then a dict's keys; undefined where there is none. Throws like item_of.
Value attribute_of(const Value& object, std::string_view name, Context& context);
// Of texts, lists, tuples and ranges; bounds that are none or undefined are left out. Throws Fault for
// others.
Value slice_of(const Value& object, const Value& start, const Value& stop, const Value& step, Budget& budget);

// The undefined value that says "'name' is undefined".
Value undefined_name(std::string_view name);

}  // namespace plait::text::jinja
