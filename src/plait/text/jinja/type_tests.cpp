#include <array>

#include "plait/text/jinja/access.h"
#include "plait/text/jinja/fault.h"
#include "plait/text/jinja/filters.h"
#include "plait/text/jinja/operators.h"
#include "plait/text/jinja/text_methods.h"

namespace plait::text::jinja {
namespace {

// A test that is a property of the value alone.
template <bool (*Is)(const Value&)>
Value test(Call& call) {
    return Value(Is(call.self()));
}

template <CompareOp op>
Value comparison(Call& call) {
    return Value(compare(op, call.self(), call[0], call.budget()));
}

bool is_defined(const Value& value) { return !value.is_undefined(); }
bool is_undefined(const Value& value) { return value.is_undefined(); }
bool is_none(const Value& value) { return value.is_none(); }
bool is_boolean(const Value& value) { return value.is_bool(); }
bool is_exactly_true(const Value& value) { return value.is_bool() && is_true(value); }
bool is_exactly_false(const Value& value) { return value.is_bool() && !is_true(value); }
bool is_integer(const Value& value) { return value.is_int(); }
bool is_float(const Value& value) { return value.is_float(); }
bool is_number(const Value& value) { return value.is_number(); }
bool is_string(const Value& value) { return value.is_text(); }
bool is_mapping(const Value& value) { return value.is_dict(); }

// Also of undefined values: they can be walked, indexed and called in Jinja (the latter two to say what is
// missing).
bool is_iterable(const Value& value) {
    return is_string(value) || value.is_sequence() || value.is_dict() || value.is_undefined() ||
           value.object_as<Iterable>() != nullptr;
}

bool is_sequence(const Value& value) {
    const auto* iterable = value.object_as<Iterable>();
    return is_string(value) || value.is_sequence() || value.is_dict() || value.is_undefined() ||
           (iterable != nullptr && iterable->kind() == Iterable::Kind::range);
}

bool is_callable(const Value& value) {
    return value.is_undefined() || (value.is_object() && value.object().callable());
}

Value remainder(Call& call, const Value& divisor) {
    return binary(BinaryOp::modulo, call.self(), divisor, call.budget());
}

bool is_zero(const Value& value) { return value.is_number() && value.real() == 0; }

Value is_even(Call& call) { return Value(is_zero(remainder(call, Value(2)))); }
Value is_odd(Call& call) { return Value(equal(remainder(call, Value(2)), Value(1), call.budget())); }
Value is_divisible(Call& call) { return Value(is_zero(remainder(call, call[0]))); }

// The text's own method of this name.
Value text_property(Call& call, std::string_view method) {
    const Value text(call.self_as_text());
    const Builtin* builtin = find_builtin(text_methods(), method);
    const Arguments none;
    Call on_text(*builtin, call.context(), text, none);
    return builtin->run(on_text);
}
Value is_lower(Call& call) { return text_property(call, "islower"); }
Value is_upper(Call& call) { return text_property(call, "isupper"); }

Value names_filter(Call& call) { return Value(call.self().is_text() && is_filter(call.self().text())); }
Value names_test(Call& call) { return Value(call.self().is_text() && is_test(call.self().text())); }

// One object, or equal numbers of one type: nobody can tell the latter apart.
Value is_same(Call& call) {
    const Value &value = call.self(), &other = call[0];
    if (value.type_name() != other.type_name()) return Value(false);
    if (value.is_number() || value.is_none()) return Value(equal(value, other, call.budget()));
    return Value(value.same_storage(other));
}

constexpr std::array<Builtin, 38> kTests = {{{"!=", "other", 1, comparison<CompareOp::not_equal>},
                                             {"<", "other", 1, comparison<CompareOp::less>},
                                             {"<=", "other", 1, comparison<CompareOp::less_equal>},
                                             {"==", "other", 1, comparison<CompareOp::equal>},
                                             {">", "other", 1, comparison<CompareOp::greater>},
                                             {">=", "other", 1, comparison<CompareOp::greater_equal>},
                                             {"boolean", "", 0, test<is_boolean>},
                                             {"callable", "", 0, test<is_callable>},
                                             {"defined", "", 0, test<is_defined>},
                                             {"divisibleby", "num", 1, is_divisible},
                                             {"eq", "other", 1, comparison<CompareOp::equal>},
                                             {"equalto", "other", 1, comparison<CompareOp::equal>},
                                             {"even", "", 0, is_even},
                                             {"false", "", 0, test<is_exactly_false>},
                                             {"filter", "", 0, names_filter},
                                             {"float", "", 0, test<is_float>},
                                             {"ge", "other", 1, comparison<CompareOp::greater_equal>},
                                             {"greaterthan", "other", 1, comparison<CompareOp::greater>},
                                             {"gt", "other", 1, comparison<CompareOp::greater>},
                                             {"in", "seq", 1, comparison<CompareOp::in>},
                                             {"integer", "", 0, test<is_integer>},
                                             {"iterable", "", 0, test<is_iterable>},
                                             {"le", "other", 1, comparison<CompareOp::less_equal>},
                                             {"lessthan", "other", 1, comparison<CompareOp::less>},
                                             {"lower", "", 0, is_lower},
                                             {"lt", "other", 1, comparison<CompareOp::less>},
                                             {"mapping", "", 0, test<is_mapping>},
                                             {"ne", "other", 1, comparison<CompareOp::not_equal>},
                                             {"none", "", 0, test<is_none>},
                                             {"number", "", 0, test<is_number>},
                                             {"odd", "", 0, is_odd},
                                             {"sameas", "other", 1, is_same},
                                             {"sequence", "", 0, test<is_sequence>},
                                             {"string", "", 0, test<is_string>},
                                             {"test", "", 0, names_test},
                                             {"true", "", 0, test<is_exactly_true>},
                                             {"undefined", "", 0, test<is_undefined>},
                                             {"upper", "", 0, is_upper}}};

}  // namespace

std::span<const Builtin> tests() { return kTests; }

}  // namespace plait::text::jinja
