#pragma once

#include <span>
#include <string_view>

#include "plait/text/jinja/builtin.h"

// Jinja's filters and tests, and the one chat templates bring along: tojson as the field's templates expect
// it (text as it is, no escaping for HTML; ensure_ascii, indent, separators, sort_keys). `safe` does nothing:
// there is no automatic escaping here.
namespace plait::text::jinja {

// value|name(arguments). Throws Fault; "unknown filter 'x'" among others.
Value apply_filter(std::string_view name, const Value& value, const Arguments& arguments, Context& context);
// value is name(arguments). Throws Fault.
bool apply_test(std::string_view name, const Value& value, const Arguments& arguments, Context& context);

bool is_filter(std::string_view name);
bool is_test(std::string_view name);

std::span<const Builtin> text_filters();
std::span<const Builtin> number_filters();
std::span<const Builtin> item_filters();   // of lists and dicts, as a whole
std::span<const Builtin> query_filters();  // map, select, sort and the like
std::span<const Builtin> tests();

}  // namespace plait::text::jinja
