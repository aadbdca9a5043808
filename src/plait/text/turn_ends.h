#pragma once

#include <string_view>

namespace plait::text {

// Whether model families end their turns with a token of this text, such as <|im_end|>. Files often name only
// one of several as the end token, and some call such a token normal, so the text decides: it is a control
// token, and generation stops there (the field's other engines do the same). Pure.
bool is_turn_end(std::string_view text);

}  // namespace plait::text
