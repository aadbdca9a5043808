#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plait/text/jinja/template.h"

namespace plait::text::jinja {

// For tests: what rendering came to.
struct Outcome {
    std::optional<std::string> text;
    std::string error;  // of the Error, if there is no text
};

// Parses and renders, at the time that the golden files were made for: 2025-03-09 14:05:07 local time.
Outcome outcome(std::string_view source, const Dict& variables, const Limits& limits = {});

std::time_t golden_time();

}  // namespace plait::text::jinja
