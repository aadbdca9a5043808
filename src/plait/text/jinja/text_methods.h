#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/text/jinja/builtin.h"

namespace plait::text::jinja {

// The methods of Python's str.
std::span<const Builtin> text_methods();

// Those that filters are made of, too. Pure.
std::vector<std::string_view> split_lines(std::string_view text);
// At most `count` times; all of them for -1. Throws Fault when the budget ends.
std::string replaced(std::string_view text, std::string_view old, std::string_view by, int64_t count,
                     Budget& budget);
std::string centered(std::string_view text, int64_t width, std::string_view fill, Budget& budget);

}  // namespace plait::text::jinja
