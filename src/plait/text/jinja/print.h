#pragma once

#include <string>

#include "plait/text/jinja/budget.h"
#include "plait/text/jinja/value.h"

namespace plait::text::jinja {

// Python's str() of a value, as {{ }} writes it. Throws Fault when the budget ends, and for what has no text
// that anybody could want (iterators, functions).
std::string to_text(const Value& value, Budget& budget);
// Python's repr(), which str() uses for what stands in lists and dicts.
std::string to_repr(const Value& value, Budget& budget);
// The shortest decimal that reads back as the same number, as Python writes it: 1.0, 1e+16, nan.
std::string float_text(double number);

// How a value becomes JSON.
struct JsonStyle {
    std::string indent;  // one level's
    bool lines = false;  // each item on its own, indented
    std::string item_separator = ", ";
    std::string key_separator = ": ";
    bool ascii = false;  // everything else as \uXXXX
    bool sort_keys = false;
};
// Python's json.dumps. Throws Fault for what JSON cannot say.
std::string to_json(const Value& value, const JsonStyle& style, Budget& budget);

}  // namespace plait::text::jinja
