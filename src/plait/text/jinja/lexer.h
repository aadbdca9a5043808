#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plait/text/jinja/fault.h"

namespace plait::text::jinja {

enum class TokenKind : uint8_t {
    text,            // between tags, as it will be written
    block_begin,     // {%
    block_end,       // %}
    variable_begin,  // {{
    variable_end,    // }}
    name,
    string,     // decoded
    integer,    // digits only, in base 10
    real,       // digits only
    operation,  // + == ( and so on
    end,
};

struct Token {
    TokenKind kind;
    std::string text;
    Place place;
};

// Cuts a template into tokens, the last of which is `end`. Comments and raw blocks are gone, and so is the
// white space that does not count: with trim_blocks and lstrip_blocks on, as the field's chat templates
// expect, and "-" and "+" in tags obeyed. All line ends become "\n", and one at the very end is dropped
// (Jinja documentation, "White Space Control"). Throws Error with the place. Linear in the source.
std::vector<Token> tokenize(std::string_view source);

}  // namespace plait::text::jinja
