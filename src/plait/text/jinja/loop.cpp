#include "plait/text/jinja/loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "plait/text/jinja/builtin.h"
#include "plait/text/jinja/fault.h"
#include "plait/text/jinja/operators.h"

namespace plait::text::jinja {
namespace {

Value cycle_method(Call& call) { return call.self().object_as<Loop>()->cycle(call.arguments().positional); }
Value changed_method(Call& call) {
    return Value(call.self().object_as<Loop>()->changed(call.arguments().positional));
}

constexpr std::array<Builtin, 2> kMethods = {
    {{"changed", "*", 0, changed_method}, {"cycle", "*", 0, cycle_method}}};

}  // namespace

Loop::Loop(std::vector<Value> items, Context& context) : items_(std::move(items)), context_(context) {}

void Loop::forget() {
    items_.clear();
    seen_.clear();
}

std::optional<Value> Loop::attribute(std::string_view name) const {
    const auto count = static_cast<int64_t>(items_.size());
    if (name == "index") return Value(at_ + 1);
    if (name == "index0") return Value(at_);
    if (name == "revindex") return Value(count - at_);
    if (name == "revindex0") return Value(count - at_ - 1);
    if (name == "first") return Value(at_ == 0);
    if (name == "last") return Value(at_ + 1 == count);
    if (name == "length") return Value(count);
    if (name == "depth") return Value(1);
    if (name == "depth0") return Value(0);
    if (name == "previtem") return neighbour(at_ - 1, "there is no previous item");
    if (name == "nextitem") return neighbour(at_ + 1, "there is no next item");
    const Builtin* method = find_builtin(kMethods, name);
    if (method == nullptr) return std::nullopt;
    const auto self = std::const_pointer_cast<Loop>(shared_from_this());
    return bound(*method, Value(std::shared_ptr<Object>(self)), context_);
}

Value Loop::neighbour(int64_t at, const char* what) const {
    if (at < 0 || at >= static_cast<int64_t>(items_.size())) {
        return Value(Undefined{std::make_shared<const std::string>(what)});
    }
    return items_[static_cast<size_t>(at)];
}

Value Loop::cycle(const std::vector<Value>& values) const {
    if (values.empty()) throw Fault("cycle needs values to go round");
    return values[static_cast<size_t>(at_) % values.size()];
}

bool Loop::changed(const std::vector<Value>& values) {
    const bool same = has_seen_ && values.size() == seen_.size() &&
                      std::ranges::equal(values, seen_, [this](const Value& a, const Value& b) {
                          return equal(a, b, context_.budget());
                      });
    has_seen_ = true;
    seen_ = values;
    return !same;
}

}  // namespace plait::text::jinja
