#include "plait/text/jinja/test_support.h"

#include "plait/base/error.h"

namespace plait::text::jinja {

std::time_t golden_time() {
    std::tm local = {
        .tm_sec = 7, .tm_min = 5, .tm_hour = 14, .tm_mday = 9, .tm_mon = 2, .tm_year = 125, .tm_isdst = -1};
    return std::mktime(&local);
}

Outcome outcome(std::string_view source, const Dict& variables, const Limits& limits) {
    try {
        return {.text = Template(source).render(variables, {.now = golden_time(), .limits = limits})};
    } catch (const Error& error) {
        return {.error = error.what()};
    }
}

}  // namespace plait::text::jinja
