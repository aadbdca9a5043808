#pragma once

#include <string_view>

#include "plait/text/jinja/budget.h"
#include "plait/text/jinja/value.h"

namespace plait::text::jinja {

// Python's `format % values`: %s %r %d %i %u %f %F %e %g %x %X %o %c %% with flags, width and precision, for
// a tuple of values, one value, or a dict with %(name)s. Throws Fault for anything else.
Value printf_text(std::string_view format, const Value& values, Budget& budget);

// Python's format.format(...): {}, {0}, {name}, without conversions and format specifications, which are a
// Fault.
Value format_text(std::string_view format, const Arguments& arguments, Budget& budget);

}  // namespace plait::text::jinja
