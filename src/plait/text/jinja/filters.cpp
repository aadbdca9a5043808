#include "plait/text/jinja/filters.h"

#include <fmt/format.h>

#include <array>

#include "plait/base/quote.h"
#include "plait/text/jinja/fault.h"
#include "plait/text/jinja/operators.h"

namespace plait::text::jinja {
namespace {

const Builtin* find_filter(std::string_view name) {
    for (const auto table : {text_filters(), number_filters(), item_filters(), query_filters()}) {
        if (const Builtin* found = find_builtin(table, name)) return found;
    }
    return nullptr;
}

}  // namespace

bool is_filter(std::string_view name) { return find_filter(name) != nullptr; }
bool is_test(std::string_view name) { return find_builtin(tests(), name) != nullptr; }

Value apply_filter(std::string_view name, const Value& value, const Arguments& arguments, Context& context) {
    const Builtin* filter = find_filter(name);
    if (filter == nullptr) throw Fault(fmt::format("unknown filter {}", quote(name)));
    Call call(*filter, context, value, arguments);
    return filter->run(call);
}

bool apply_test(std::string_view name, const Value& value, const Arguments& arguments, Context& context) {
    const Builtin* test = find_builtin(tests(), name);
    if (test == nullptr) throw Fault(fmt::format("unknown test {}", quote(name)));
    Call call(*test, context, value, arguments);
    return is_true(test->run(call));
}

}  // namespace plait::text::jinja
