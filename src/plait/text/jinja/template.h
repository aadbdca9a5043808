#pragma once

#include <ctime>
#include <memory>
#include <string>
#include <string_view>

#include "plait/text/jinja/budget.h"
#include "plait/text/jinja/value.h"

namespace plait::text::jinja {

struct RenderOptions {
    std::time_t now = std::time(nullptr);  // what strftime_now tells, in local time
    Limits limits;
};

// A template, parsed once and rendered any number of times. The language is Jinja 3.1's (Template Designer
// Documentation) as the field renders chat templates with it: trim_blocks, lstrip_blocks, no automatic
// escaping, Python's values, an immutable sandbox, break and continue, {% generation %}, raise_exception,
// strftime_now and tojson. What Plait leaves out (see parser.h, filters.h) is an error that names it. Copies
// share. Thread-safe.
class Template {
  public:
    // Throws Error that begins with "template line 3, column 7: ".
    explicit Template(std::string_view source);

    // Throws Error like the constructor, with where it happened; for raise_exception without a place:
    // "the template refuses: ...".
    std::string render(const Dict& variables, const RenderOptions& options = {}) const;

  private:
    struct Tree;
    std::shared_ptr<const Tree> tree_;
};

}  // namespace plait::text::jinja
