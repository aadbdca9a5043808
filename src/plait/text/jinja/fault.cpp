#include "plait/text/jinja/fault.h"

#include <fmt/format.h>

#include "plait/base/error.h"

namespace plait::text::jinja {

void fail_at(Place place, const std::string& message) {
    throw Error(fmt::format("template line {}, column {}: {}", place.line, place.column, message));
}

}  // namespace plait::text::jinja
