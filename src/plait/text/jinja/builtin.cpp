#include "plait/text/jinja/builtin.h"

#include <fmt/format.h>

#include <algorithm>

#include "plait/base/quote.h"
#include "plait/text/jinja/fault.h"
#include "plait/text/jinja/operators.h"
#include "plait/text/jinja/print.h"

namespace plait::text::jinja {
namespace {

class BoundBuiltin : public Object {
  public:
    BoundBuiltin(const Builtin& builtin, Value self, Context& context)
        : builtin_(builtin), self_(std::move(self)), context_(context) {}

    std::string_view type_name() const override { return "builtin_function_or_method"; }
    bool callable() const override { return true; }
    int depth() const override { return self_.depth() + 1; }
    Value call(const Arguments& arguments) override {
        ::plait::text::jinja::Call call(builtin_, context_, self_, arguments);
        return builtin_.run(call);
    }

  private:
    const Builtin& builtin_;
    const Value self_;
    Context& context_;
};

size_t count_words(std::string_view words) {
    return words.empty() ? 0 : 1 + static_cast<size_t>(std::ranges::count(words, ' '));
}

}  // namespace

Call::Call(const Builtin& builtin, Context& context, const Value& self, const Arguments& arguments)
    : builtin_(builtin), context_(context), self_(self), arguments_(arguments) {
    context.budget().step();
    if (builtin.parameters == "*") return;
    const size_t most = count_words(builtin.parameters);
    if (arguments.positional.size() > most) {
        throw Fault(fmt::format("{} takes at most {} arguments, found {}", name(), most,
                                arguments.positional.size()));
    }
    for (size_t i = 0; i < arguments.positional.size(); ++i) values_.at(i) = &arguments.positional[i];
    for (const auto& [key, value] : arguments.named) bind(key, value);
    for (size_t i = 0; i < builtin.required; ++i) {
        if (!has(i)) throw Fault(fmt::format("{} needs the argument '{}'", name(), parameter(i)));
    }
}

std::string_view Call::parameter(size_t index) const {
    std::string_view left = builtin_.parameters;
    for (; index > 0; --index) left.remove_prefix(left.find(' ') + 1);
    return left.substr(0, left.find(' '));
}

void Call::bind(std::string_view key, const Value& value) {
    for (size_t i = 0; i < count_words(builtin_.parameters); ++i) {
        if (parameter(i) != key) continue;
        if (has(i)) throw Fault(fmt::format("{} got the argument '{}' twice", name(), key));
        values_.at(i) = &value;
        return;
    }
    throw Fault(fmt::format("{} takes no argument {}", name(), quote(key)));
}

const Value& Call::operator[](size_t index) const {
    static const Value undefined;
    return has(index) ? *values_.at(index) : undefined;
}

const std::string& Call::text(size_t index) const {
    const Value& value = (*this)[index];
    require_defined(value);
    if (value.is_text()) return value.text();
    throw Fault(
        fmt::format("{} expects a str as '{}', found {}", name(), parameter(index), value.type_name()));
}

int64_t Call::integer(size_t index, int64_t standard) const {
    if (!has(index)) return standard;
    require_defined((*this)[index]);
    if (const auto whole = (*this)[index].integer()) return *whole;
    throw Fault(fmt::format("{} expects an int as '{}', found {}", name(), parameter(index),
                            (*this)[index].type_name()));
}

bool Call::flag(size_t index, bool standard) const { return has(index) ? is_true((*this)[index]) : standard; }

std::string_view Call::self_text() const { return self_.text(); }

std::string Call::self_as_text() { return to_text(self_, budget()); }

Value Call::made(std::string text) {
    budget().make(text.size());
    return Value(std::move(text));
}

Value Call::made_list(std::vector<Value> items) {
    budget().make(items.size() * sizeof(Value));
    return Value::list(std::move(items));
}

const Builtin* find_builtin(std::span<const Builtin> table, std::string_view name) {
    const auto found = std::ranges::find(table, name, &Builtin::name);
    return found == table.end() ? nullptr : &*found;
}

Value bound(const Builtin& builtin, const Value& self, Context& context) {
    context.budget().make(sizeof(BoundBuiltin));
    return Value(std::make_shared<BoundBuiltin>(builtin, self, context));
}

}  // namespace plait::text::jinja
