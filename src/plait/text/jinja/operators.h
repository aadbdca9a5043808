#pragma once

#include <compare>
#include <string>
#include <vector>

#include "plait/text/jinja/ast.h"
#include "plait/text/jinja/budget.h"
#include "plait/text/jinja/value.h"

// What operators do, as in Python. All throw Fault for operands that do not go together, for integers beyond
// 64 bits (Python's have no end), and when the budget ends.
namespace plait::text::jinja {

// Throws Fault with why it is undefined, if it is.
void require_defined(const Value& value);

bool is_true(const Value& value);
Value binary(BinaryOp op, const Value& left, const Value& right, Budget& budget);
Value add(const Value& left, const Value& right, Budget& budget);
Value negative(const Value& value);

bool equal(const Value& left, const Value& right, Budget& budget);
// For numbers, texts, lists and tuples. NaN is in order with nothing, as in Python.
std::partial_ordering order(const Value& left, const Value& right, Budget& budget);
bool contains(const Value& container, const Value& item, Budget& budget);
bool compare(CompareOp op, const Value& left, const Value& right, Budget& budget);

}  // namespace plait::text::jinja
