#pragma once

#include <string_view>

#include "plait/text/jinja/ast.h"

namespace plait::text::jinja {

// A template's text as a tree. The language is Jinja 3.1's (Template Designer Documentation), without what
// reads other files (extends, block, include, import), and with the additions that chat templates have:
// break, continue and {% generation %}. Throws Error: "template line 3, column 7: expected '%}', found ...".
Block parse(std::string_view source);

}  // namespace plait::text::jinja
