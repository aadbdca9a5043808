#pragma once

#include <optional>
#include <string_view>

#include "plait/text/jinja/value.h"

namespace plait::text::jinja {

class Context;

// What Python's types have under a name: methods of texts, lists, tuples and dicts, attributes of objects.
// Methods that would change a value are undefined ("access to attribute 'append' of 'list' object is
// unsafe"), as in Jinja's immutable sandbox, which the field renders chat templates in. Nothing where there
// is none.
std::optional<Value> builtin_attribute(const Value& object, std::string_view name, Context& context);

}  // namespace plait::text::jinja
