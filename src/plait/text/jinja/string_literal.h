#pragma once

#include <string>
#include <string_view>

namespace plait::text::jinja {

// What stands between a string's quotes with its escapes carried out as Python does: \n, \x41, \u00e9 and so
// on; one that Python does not know stays as it is. Throws Fault for digits that are missing or name no
// character.
std::string unescaped(std::string_view inside);

}  // namespace plait::text::jinja
