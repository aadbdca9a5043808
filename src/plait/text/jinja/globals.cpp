#include "plait/text/jinja/globals.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "plait/base/error.h"
#include "plait/text/jinja/access.h"
#include "plait/text/jinja/fault.h"
#include "plait/text/jinja/print.h"

namespace plait::text::jinja {
namespace {

// What `dict` and `namespace` are given: pairs or a dict, then names with values.
std::vector<Dict::Entry> entries_of(Call& call) {
    const Arguments& given = call.arguments();
    if (given.positional.size() > 1)
        throw Fault(fmt::format("{} takes at most one argument without a name", call.name()));
    std::vector<Dict::Entry> entries;
    if (!given.positional.empty() && given.positional[0].is_dict()) {
        entries = given.positional[0].dict().entries();
    } else if (!given.positional.empty()) {
        for (const Value& pair : items_of(given.positional[0], call.budget())) {
            const auto both = items_of(pair, call.budget());
            if (both.size() != 2)
                throw Fault(fmt::format("{} expects pairs, found {} values", call.name(), both.size()));
            entries.emplace_back(both[0], both[1]);
        }
    }
    for (const auto& [key, value] : given.named) entries.emplace_back(Value(key), value);
    call.budget().make(entries.size() * 2 * sizeof(Value));
    return entries;
}

Value dict(Call& call) { return Value(Dict(entries_of(call))); }

Value make_namespace(Call& call) {
    auto result = call.context().own(std::make_shared<Namespace>());
    for (auto& [key, value] : entries_of(call)) {
        if (!key.is_text())
            throw Fault(fmt::format("namespace expects strs as names, found {}", key.type_name()));
        result->set(key.text(), std::move(value));
    }
    return Value(std::shared_ptr<Object>(std::move(result)));
}

int64_t range_size(int64_t start, int64_t stop, int64_t step) {
    // In 128 bits nothing overflows.
    const __int128 span =
        step > 0 ? static_cast<__int128>(stop) - start : static_cast<__int128>(start) - stop;
    const __int128 unit = step > 0 ? static_cast<__int128>(step) : -static_cast<__int128>(step);
    const __int128 size = span <= 0 ? 0 : (span + unit - 1) / unit;
    if (size > kMaxRange) throw Fault(fmt::format("range expects at most {} numbers", kMaxRange));
    return static_cast<int64_t>(size);
}

Value range(Call& call) {
    const bool only_stop = !call.has(1);
    const int64_t start = only_stop ? 0 : call.integer(0, 0);
    const int64_t stop = call.integer(only_stop ? 0 : 1, 0), step = call.integer(2, 1);
    if (step == 0) throw Fault("range expects a step other than 0");
    const int64_t size = range_size(start, stop, step);
    call.budget().make(static_cast<size_t>(size) * sizeof(Value));
    std::vector<Value> numbers;
    for (int64_t i = 0; i < size; ++i) numbers.emplace_back(start + i * step);
    return Value(std::make_shared<Iterable>(Iterable::Kind::range, "range", std::move(numbers)));
}

Value raise(Call& call) {
    throw Error(fmt::format("the template refuses: {}", to_text(call[0], call.budget())));
}

Value time_text(Call& call) {
    const std::time_t now = call.context().now();
    std::tm local = {};
    localtime_r(&now, &local);
    const std::string format = call.text(0) + ".";  // so that nothing written means that there was no room
    std::string text(format.size() * 16 + 64, '\0');
    call.budget().make(text.size());
    const size_t written = std::strftime(text.data(), text.size(), format.c_str(), &local);
    if (written == 0) throw Fault("strftime_now expects a format of a reasonable width");
    text.resize(written - 1);
    return Value(std::move(text));
}

constexpr std::array<Builtin, 5> kGlobals = {{{"dict", "*", 0, dict},
                                              {"namespace", "*", 0, make_namespace},
                                              {"raise_exception", "message", 1, raise},
                                              {"range", "start stop step", 1, range},
                                              {"strftime_now", "format", 1, time_text}}};

}  // namespace

std::span<const Builtin> globals() { return kGlobals; }

}  // namespace plait::text::jinja
