#pragma once

#include <span>

#include "plait/text/jinja/builtin.h"

namespace plait::text::jinja {

// Functions that every template can call: namespace, range, dict, raise_exception (throws Error with the
// template's own words), strftime_now.
std::span<const Builtin> globals();

}  // namespace plait::text::jinja
