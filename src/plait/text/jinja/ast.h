#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "plait/text/jinja/fault.h"
#include "plait/text/jinja/value.h"

// A template as a tree. Made by the parser, read by the interpreter, never changed.
namespace plait::text::jinja {

struct Expr;
struct Stmt;
using ExprPtr = std::unique_ptr<const Expr>;
using Block = std::vector<Stmt>;

struct Argument {
    enum class Kind : uint8_t { positional, named, unpacked, unpacked_named };  // x, name=x, *x, **x
    Kind kind;
    std::string name;  // of a named one
    ExprPtr value;
};

// --- Expressions ---

struct Constant {
    Value value;
};
struct Name {
    std::string name;
};
struct ListExpr {
    std::vector<ExprPtr> items;
};
struct TupleExpr {
    std::vector<ExprPtr> items;
};
struct DictExpr {
    std::vector<std::pair<ExprPtr, ExprPtr>> entries;
};
struct Attribute {  // object.name
    ExprPtr object;
    std::string name;
};
struct Item {  // object[key]
    ExprPtr object;
    ExprPtr key;
};
struct Slice {  // object[start:stop:step]; what is left out is null
    ExprPtr object;
    ExprPtr start;
    ExprPtr stop;
    ExprPtr step;
};
struct CallExpr {
    ExprPtr callee;
    std::vector<Argument> arguments;
};
struct FilterExpr {
    ExprPtr input;  // null: the text of the block that the filter stands over
    std::string name;
    std::vector<Argument> arguments;
};
struct TestExpr {  // input is name(arguments)
    ExprPtr input;
    std::string name;
    std::vector<Argument> arguments;
    bool negated;
};
enum class UnaryOp : uint8_t { minus, plus, logical_not };
struct Unary {
    UnaryOp op;
    ExprPtr operand;
};
enum class BinaryOp : uint8_t { add, subtract, multiply, divide, floor_divide, modulo, power };
struct Binary {
    BinaryOp op;
    ExprPtr left;
    ExprPtr right;
};
struct Concat {  // a ~ b ~ c
    std::vector<ExprPtr> parts;
};
struct Logical {  // left and right, left or right
    bool is_and;
    ExprPtr left;
    ExprPtr right;
};
enum class CompareOp : uint8_t { equal, not_equal, less, less_equal, greater, greater_equal, in, not_in };
struct Comparison {  // a < b <= c
    ExprPtr first;
    std::vector<std::pair<CompareOp, ExprPtr>> rest;
};
struct Conditional {  // then if condition else otherwise
    ExprPtr condition;
    ExprPtr then;
    ExprPtr otherwise;  // null: undefined
};

struct Expr {
    Place place;
    std::variant<Constant, Name, ListExpr, TupleExpr, DictExpr, Attribute, Item, Slice, CallExpr, FilterExpr,
                 TestExpr, Unary, Binary, Concat, Logical, Comparison, Conditional>
        node;
};

// --- Statements ---

// What `set` and `for` assign to: a name, an attribute of a namespace, or several of them.
struct Target {
    Place place;
    std::string name;
    std::string attribute;      // empty: the name itself
    std::vector<Target> parts;  // not empty: unpack into these
};

struct Parameter {
    std::string name;
    ExprPtr standard;  // null: none
};

// Something that is called with parameters and writes a text. Statements and macros share it.
struct MacroBody {
    std::string name;
    std::vector<Parameter> parameters;
    Block body;
    bool takes_rest = false;        // the body names `varargs`
    bool takes_named_rest = false;  // the body names `kwargs`
};

struct TextStmt {
    std::string text;
};
struct OutputStmt {
    ExprPtr value;
};
struct IfStmt {
    std::vector<std::pair<ExprPtr, Block>> branches;
    Block otherwise;
};
struct ForStmt {
    Target target;
    ExprPtr iterable;
    ExprPtr condition;  // null: all items
    Block body;
    Block otherwise;  // when there was no item
};
struct SetStmt {
    Target target;
    ExprPtr value;
};
struct SetBlockStmt {
    Target target;
    ExprPtr filter;  // of the block's text; null: none
    Block body;
};
struct WithStmt {
    std::vector<std::pair<Target, ExprPtr>> values;
    Block body;
};
struct MacroStmt {
    std::shared_ptr<const MacroBody> macro;
};
struct CallStmt {  // calls with the block as `caller`
    ExprPtr call;
    std::shared_ptr<const MacroBody> caller;
};
struct FilterStmt {
    ExprPtr filter;
    Block body;
};
struct ScopeStmt {  // {% generation %}: what the model itself says; shows nothing
    Block body;
};
struct BreakStmt {};
struct ContinueStmt {};

struct Stmt {
    Place place;
    std::variant<TextStmt, OutputStmt, IfStmt, ForStmt, SetStmt, SetBlockStmt, WithStmt, MacroStmt, CallStmt,
                 FilterStmt, ScopeStmt, BreakStmt, ContinueStmt>
        node;
};

}  // namespace plait::text::jinja
