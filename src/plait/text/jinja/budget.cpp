#include "plait/text/jinja/budget.h"

#include <fmt/format.h>

#include "plait/text/jinja/fault.h"

namespace plait::text::jinja {

void Budget::refuse_steps() const {
    throw Fault(fmt::format("rendering takes more than the {} steps a template may take", limits_.steps));
}

void Budget::refuse_bytes() const {
    throw Fault(fmt::format("rendering makes more than the {} bytes a template may make", limits_.bytes));
}

void Budget::refuse_depth() {
    ++left_.depth;  // the Level whose constructor this ends has no destructor to do it
    throw Fault(fmt::format("more than {} calls and expressions inside one another", limits_.depth));
}

}  // namespace plait::text::jinja
