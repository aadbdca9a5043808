#pragma once

#include <string_view>

#include "plait/text/jinja/value.h"

namespace plait::text::jinja {

// A JSON text (RFC 8259) as a value: what messages and tools come as. Integers beyond 64 bits become floats.
// Throws Error for what is no JSON and for values that nest deeper than kMaxValueDepth.
Value parse_json(std::string_view json);

}  // namespace plait::text::jinja
