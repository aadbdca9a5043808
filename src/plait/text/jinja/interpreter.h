#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plait/text/jinja/ast.h"
#include "plait/text/jinja/context.h"
#include "plait/text/jinja/scope.h"

namespace plait::text::jinja {

// Runs a tree once. Throws Error with the place for whatever goes wrong.
class Interpreter {
  public:
    // The tree, the variables and the context must outlive it.
    Interpreter(const Block& block, const Dict& variables, Context& context);

    std::string run();

    // For macros: what the body writes, with these names set inside `closure`.
    Value run_macro(const MacroBody& macro, std::shared_ptr<Scope> closure, const Arguments& arguments);

  private:
    enum class Flow : uint8_t { next, break_loop, continue_loop };
    class InScope;

    Budget& budget() { return context_.budget(); }

    Flow execute(const Block& block);
    Flow execute(const Stmt& statement);
    Flow execute(const TextStmt& statement);
    Flow execute(const OutputStmt& statement);
    Flow execute(const IfStmt& statement);
    Flow execute(const ForStmt& statement);
    Flow execute(const SetStmt& statement);
    Flow execute(const SetBlockStmt& statement);
    Flow execute(const WithStmt& statement);
    Flow execute(const MacroStmt& statement);
    Flow execute(const CallStmt& statement);
    Flow execute(const FilterStmt& statement);
    Flow execute(const ScopeStmt& statement);
    Flow execute(BreakStmt) { return Flow::break_loop; }
    Flow execute(ContinueStmt) { return Flow::continue_loop; }

    void write(std::string_view text);
    // What a block writes, run in a scope of its own.
    std::string captured(const Block& block);
    Value filtered(const Expr& filter, std::string text);
    std::vector<Value> chosen_items(const ForStmt& statement);
    Flow run_loop(const ForStmt& statement, std::vector<Value> items);
    void assign(const Target& target, const Value& value);
    void bind_parameters(const MacroBody& macro, const Arguments& arguments);
    Value macro_value(const std::shared_ptr<const MacroBody>& macro);

    Value evaluate(const Expr& expression);
    Value evaluate(const Constant& node) { return node.value; }
    Value evaluate(const Name& node);
    Value evaluate(const ListExpr& node) { return Value::list(evaluate_all(node.items)); }
    Value evaluate(const TupleExpr& node) { return Value::tuple(evaluate_all(node.items)); }
    Value evaluate(const DictExpr& node);
    Value evaluate(const Attribute& node);
    Value evaluate(const Item& node);
    Value evaluate(const Slice& node);
    Value evaluate(const CallExpr& node);
    Value evaluate(const FilterExpr& node);
    Value evaluate(const TestExpr& node);
    Value evaluate(const Unary& node);
    Value evaluate(const Binary& node);
    Value evaluate(const Concat& node);
    Value evaluate(const Logical& node);
    Value evaluate(const Comparison& node);
    Value evaluate(const Conditional& node);

    Value evaluate_or_none(const ExprPtr& expression);
    std::vector<Value> evaluate_all(const std::vector<ExprPtr>& expressions);
    Arguments evaluate_arguments(const std::vector<Argument>& arguments);
    Value call(const CallExpr& node, Arguments arguments);

    const Block& block_;
    const Dict& variables_;
    Context& context_;
    std::shared_ptr<Scope> scope_;
    std::string output_;
    Value block_text_;  // what a filter over a block filters
};

}  // namespace plait::text::jinja
