#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "plait/text/jinja/context.h"
#include "plait/text/jinja/value.h"

// Functions written in C++: methods of values, filters, tests and global functions, each a row in a table.
namespace plait::text::jinja {

class Call;

struct Builtin {
    std::string_view name;
    // Names of what it takes besides the value it works on, separated by spaces. "*": anything, in
    // arguments().
    std::string_view parameters;
    size_t required;  // so many of them must be given
    Value (*run)(Call& call);
};

// Arguments sorted to a builtin's parameters. All throw Fault: for missing, unknown and superfluous
// arguments, and for values of the wrong type.
class Call {
  public:
    Call(const Builtin& builtin, Context& context, const Value& self, const Arguments& arguments);

    Context& context() { return context_; }
    Budget& budget() { return context_.budget(); }
    const Value& self() const { return self_; }  // what the method, filter or test works on
    const Arguments& arguments() const { return arguments_; }
    std::string_view name() const { return builtin_.name; }

    // Of a parameter's index. One that is not given is undefined.
    bool has(size_t index) const { return values_.at(index) != nullptr; }
    const Value& operator[](size_t index) const;
    const std::string& text(size_t index) const;
    int64_t integer(size_t index, int64_t standard) const;
    bool flag(size_t index, bool standard) const;

    std::string_view self_text() const;  // of a method of str
    std::string self_as_text();          // what a filter of texts does with any value

    // A result: counted, then wrapped.
    Value made(std::string text);
    Value made_list(std::vector<Value> items);

  private:
    std::string_view parameter(size_t index) const;
    void bind(std::string_view name, const Value& value);

    const Builtin& builtin_;
    Context& context_;
    const Value& self_;
    const Arguments& arguments_;
    std::array<const Value*, 5> values_{};
};

// Null if no row has the name.
const Builtin* find_builtin(std::span<const Builtin> table, std::string_view name);

// A method of a value, or a global function, as a value.
Value bound(const Builtin& builtin, const Value& self, Context& context);

}  // namespace plait::text::jinja
