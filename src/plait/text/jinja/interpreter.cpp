#include "plait/text/jinja/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "plait/base/quote.h"
#include "plait/text/jinja/access.h"
#include "plait/text/jinja/builtin.h"
#include "plait/text/jinja/filters.h"
#include "plait/text/jinja/globals.h"
#include "plait/text/jinja/loop.h"
#include "plait/text/jinja/operators.h"
#include "plait/text/jinja/print.h"

namespace plait::text::jinja {
namespace {

class Macro : public Object {
  public:
    Macro(std::shared_ptr<const MacroBody> body, const std::shared_ptr<Scope>& closure,
          Interpreter& interpreter)
        : body_(std::move(body)), closure_(closure), interpreter_(interpreter) {}

    std::string_view type_name() const override { return "Macro"; }
    std::optional<Value> attribute(std::string_view name) const override {
        return name == "name" ? std::optional<Value>(body_->name) : std::nullopt;
    }
    bool callable() const override { return true; }
    Value call(const Arguments& arguments) override {
        auto closure = closure_.lock();
        if (!closure)
            throw Fault(fmt::format("macro '{}' is called outside the block that it stands in", body_->name));
        return interpreter_.run_macro(*body_, std::move(closure), arguments);
    }

  private:
    const std::shared_ptr<const MacroBody> body_;
    const std::weak_ptr<Scope> closure_;  // the scope holds the macro
    Interpreter& interpreter_;
};

Value undefined_parameter(const std::string& name) {
    return Value(
        Undefined{std::make_shared<const std::string>(fmt::format("parameter '{}' was not provided", name))});
}

// Throws Fault for arguments that the macro has no use for.
void check_arguments(const MacroBody& macro, const Arguments& arguments) {
    if (arguments.positional.size() > macro.parameters.size() && !macro.takes_rest) {
        throw Fault(fmt::format("macro '{}' takes at most {} arguments, found {}", macro.name,
                                macro.parameters.size(), arguments.positional.size()));
    }
    for (const auto& [name, value] : arguments.named) {
        const auto known = std::ranges::find(macro.parameters, name, &Parameter::name);
        if (known == macro.parameters.end()) {
            if (macro.takes_named_rest || name == "caller") continue;
            throw Fault(fmt::format("macro '{}' takes no argument {}", macro.name, quote(name)));
        }
        if (known - macro.parameters.begin() < std::ssize(arguments.positional)) {
            throw Fault(fmt::format("macro '{}' got the argument '{}' twice", macro.name, name));
        }
    }
}

const Value* named(const Arguments& arguments, std::string_view name) {
    for (const auto& [key, value] : arguments.named) {
        if (key == name) return &value;
    }
    return nullptr;
}

Value rest_of(const MacroBody& macro, const Arguments& arguments) {
    const size_t taken = std::min(macro.parameters.size(), arguments.positional.size());
    return Value::tuple(
        {arguments.positional.begin() + static_cast<std::ptrdiff_t>(taken), arguments.positional.end()});
}

Value named_rest_of(const MacroBody& macro, const Arguments& arguments) {
    std::vector<Dict::Entry> rest;
    for (const auto& [name, value] : arguments.named) {
        const bool is_parameter =
            std::ranges::find(macro.parameters, name, &Parameter::name) != macro.parameters.end();
        if (!is_parameter && name != "caller") rest.emplace_back(Value(name), value);
    }
    return Value(Dict(std::move(rest)));
}

}  // namespace

// While it lives, names are set in a new scope.
class Interpreter::InScope {
  public:
    InScope(Interpreter& interpreter, const std::shared_ptr<Scope>& around)
        : interpreter_(interpreter),
          former_(std::exchange(interpreter.scope_, std::make_shared<Scope>(around))) {}
    explicit InScope(Interpreter& interpreter) : InScope(interpreter, interpreter.scope_) {}
    ~InScope() { interpreter_.scope_ = std::move(former_); }
    InScope(const InScope&) = delete;
    InScope& operator=(const InScope&) = delete;

  private:
    Interpreter& interpreter_;
    std::shared_ptr<Scope> former_;
};

Interpreter::Interpreter(const Block& block, const Dict& variables, Context& context)
    : block_(block), variables_(variables), context_(context), scope_(std::make_shared<Scope>(nullptr)) {}

std::string Interpreter::run() {
    execute(block_);
    return std::move(output_);
}

// --- Statements ---

Interpreter::Flow Interpreter::execute(const Block& block) {
    for (const Stmt& statement : block) {
        if (const Flow flow = execute(statement); flow != Flow::next) return flow;
    }
    return Flow::next;
}

Interpreter::Flow Interpreter::execute(const Stmt& statement) {
    try {
        const Budget::Level level(budget());
        budget().step();
        return std::visit([this](const auto& node) { return execute(node); }, statement.node);
    } catch (const Fault& fault) {
        fail_at(statement.place, fault.message());
    }
}

void Interpreter::write(std::string_view text) {
    budget().make(text.size());
    output_ += text;
}

Interpreter::Flow Interpreter::execute(const TextStmt& statement) {
    write(statement.text);
    return Flow::next;
}

Interpreter::Flow Interpreter::execute(const OutputStmt& statement) {
    const Value value = evaluate(*statement.value);
    write(value.is_text() ? value.text() : to_text(value, budget()));
    return Flow::next;
}

Interpreter::Flow Interpreter::execute(const IfStmt& statement) {
    for (const auto& [condition, branch] : statement.branches) {
        if (is_true(evaluate(*condition))) return execute(branch);
    }
    return execute(statement.otherwise);
}

Interpreter::Flow Interpreter::execute(const ForStmt& statement) {
    std::vector<Value> items = chosen_items(statement);
    if (items.empty()) return execute(statement.otherwise);
    return run_loop(statement, std::move(items));
}

std::vector<Value> Interpreter::chosen_items(const ForStmt& statement) {
    std::vector<Value> items = items_of(evaluate(*statement.iterable), budget());
    if (!statement.condition) return items;
    std::erase_if(items, [&](const Value& item) {
        const InScope scope(*this);
        assign(statement.target, item);
        return !is_true(evaluate(*statement.condition));
    });
    return items;
}

Interpreter::Flow Interpreter::run_loop(const ForStmt& statement, std::vector<Value> items) {
    const auto loop = context_.own(std::make_shared<Loop>(std::move(items), context_));
    while (loop->advance()) {
        const InScope scope(*this);
        assign(statement.target, loop->item());
        scope_->set("loop", Value(std::shared_ptr<Object>(loop)));
        if (execute(statement.body) == Flow::break_loop) break;
    }
    context_.disown_last_if_unused(loop);
    return Flow::next;
}

Interpreter::Flow Interpreter::execute(const SetStmt& statement) {
    assign(statement.target, evaluate(*statement.value));
    return Flow::next;
}

Interpreter::Flow Interpreter::execute(const SetBlockStmt& statement) {
    std::string text = captured(statement.body);
    assign(statement.target,
           statement.filter ? filtered(*statement.filter, std::move(text)) : Value(std::move(text)));
    return Flow::next;
}

Interpreter::Flow Interpreter::execute(const WithStmt& statement) {
    std::vector<Value> values;
    for (const auto& [target, value] : statement.values) values.push_back(evaluate(*value));
    const InScope scope(*this);
    for (size_t i = 0; i < values.size(); ++i) assign(statement.values[i].first, values[i]);
    return execute(statement.body);
}

Interpreter::Flow Interpreter::execute(const MacroStmt& statement) {
    scope_->set(statement.macro->name, macro_value(statement.macro));
    return Flow::next;
}

Value Interpreter::macro_value(const std::shared_ptr<const MacroBody>& macro) {
    budget().make(sizeof(Macro));
    return Value(std::make_shared<Macro>(macro, scope_, *this));
}

Interpreter::Flow Interpreter::execute(const CallStmt& statement) {
    const auto& node = std::get<CallExpr>(statement.call->node);
    Arguments arguments = evaluate_arguments(node.arguments);
    arguments.named.emplace_back("caller", macro_value(statement.caller));
    write(to_text(call(node, std::move(arguments)), budget()));
    return Flow::next;
}

Interpreter::Flow Interpreter::execute(const FilterStmt& statement) {
    write(to_text(filtered(*statement.filter, captured(statement.body)), budget()));
    return Flow::next;
}

Interpreter::Flow Interpreter::execute(const ScopeStmt& statement) {
    const InScope scope(*this);
    return execute(statement.body);
}

std::string Interpreter::captured(const Block& block) {
    const InScope scope(*this);
    std::string outside = std::exchange(output_, {});
    // A break or continue cannot leave such a block: what it has written so far counts.
    execute(block);
    return std::exchange(output_, std::move(outside));
}

Value Interpreter::filtered(const Expr& filter, std::string text) {
    Value outer = std::exchange(block_text_, Value(std::move(text)));
    Value result = evaluate(filter);
    block_text_ = std::move(outer);
    return result;
}

void Interpreter::assign(const Target& target, const Value& value) {
    if (target.parts.empty() && target.attribute.empty()) return scope_->set(target.name, value);
    if (target.parts.empty()) {
        const Value* found = scope_->find(target.name);
        auto* holder = found == nullptr ? nullptr : found->object_as<Namespace>();
        if (holder == nullptr) {
            fail_at(target.place,
                    fmt::format("cannot assign to an attribute of '{}': it is no namespace", target.name));
        }
        budget().make(sizeof(Value) + target.attribute.size());
        return holder->set(target.attribute, value);
    }
    const std::vector<Value> items = items_of(value, budget());
    if (items.size() != target.parts.size()) {
        fail_at(target.place,
                fmt::format("expected {} values to unpack, found {}", target.parts.size(), items.size()));
    }
    for (size_t i = 0; i < items.size(); ++i) assign(target.parts[i], items[i]);
}

Value Interpreter::run_macro(const MacroBody& macro, std::shared_ptr<Scope> closure,
                             const Arguments& arguments) {
    check_arguments(macro, arguments);
    const InScope scope(*this, closure);
    std::string outside = std::exchange(output_, {});
    bind_parameters(macro, arguments);
    execute(macro.body);
    return Value(std::exchange(output_, std::move(outside)));
}

void Interpreter::bind_parameters(const MacroBody& macro, const Arguments& arguments) {
    for (size_t i = 0; i < macro.parameters.size(); ++i) {
        const Parameter& parameter = macro.parameters[i];
        const Value* given =
            i < arguments.positional.size() ? &arguments.positional[i] : named(arguments, parameter.name);
        scope_->set(parameter.name, given != nullptr     ? *given
                                    : parameter.standard ? evaluate(*parameter.standard)
                                                         : undefined_parameter(parameter.name));
    }
    if (macro.takes_rest) scope_->set("varargs", rest_of(macro, arguments));
    if (macro.takes_named_rest) scope_->set("kwargs", named_rest_of(macro, arguments));
    if (const Value* caller = named(arguments, "caller")) scope_->set("caller", *caller);
}

// --- Expressions ---

Value Interpreter::evaluate(const Expr& expression) {
    try {
        const Budget::Level level(budget());
        budget().step();
        return std::visit([this](const auto& node) { return evaluate(node); }, expression.node);
    } catch (const Fault& fault) {
        fail_at(expression.place, fault.message());
    }
}

Value Interpreter::evaluate_or_none(const ExprPtr& expression) {
    return expression ? evaluate(*expression) : Value(None());
}

std::vector<Value> Interpreter::evaluate_all(const std::vector<ExprPtr>& expressions) {
    budget().make(expressions.size() * sizeof(Value));
    std::vector<Value> values;
    for (const ExprPtr& expression : expressions) values.push_back(evaluate(*expression));
    return values;
}

Value Interpreter::evaluate(const Name& node) {
    if (const Value* value = scope_->find(node.name)) return *value;
    if (const Value* value = variables_.find(node.name)) return *value;
    if (const Builtin* global = find_builtin(globals(), node.name)) return bound(*global, Value(), context_);
    return undefined_name(node.name);
}

Value Interpreter::evaluate(const DictExpr& node) {
    budget().make(node.entries.size() * 2 * sizeof(Value));
    std::vector<Dict::Entry> entries;
    for (const auto& [key, value] : node.entries) {
        Value evaluated_key = evaluate(*key);
        entries.emplace_back(std::move(evaluated_key), evaluate(*value));
    }
    return Value(Dict(std::move(entries)));
}

Value Interpreter::evaluate(const Attribute& node) {
    return attribute_of(evaluate(*node.object), node.name, context_);
}

Value Interpreter::evaluate(const Item& node) {
    const Value object = evaluate(*node.object);
    return item_of(object, evaluate(*node.key), context_);
}

Value Interpreter::evaluate(const Slice& node) {
    const Value object = evaluate(*node.object);
    const Value start = evaluate_or_none(node.start);
    const Value stop = evaluate_or_none(node.stop);
    return slice_of(object, start, stop, evaluate_or_none(node.step), budget());
}

Value Interpreter::evaluate(const CallExpr& node) { return call(node, evaluate_arguments(node.arguments)); }

Value Interpreter::call(const CallExpr& node, Arguments arguments) {
    const Value callee = evaluate(*node.callee);
    require_defined(callee);
    if (!callee.is_object()) throw Fault(fmt::format("a {} cannot be called", callee.type_name()));
    return callee.object().call(arguments);
}

Arguments Interpreter::evaluate_arguments(const std::vector<Argument>& arguments) {
    Arguments result;
    for (const Argument& argument : arguments) {
        Value value = evaluate(*argument.value);
        switch (argument.kind) {
            case Argument::Kind::positional:
                result.positional.push_back(std::move(value));
                break;
            case Argument::Kind::named:
                result.named.emplace_back(argument.name, std::move(value));
                break;
            case Argument::Kind::unpacked:
                for (Value& item : items_of(value, budget())) result.positional.push_back(std::move(item));
                break;
            case Argument::Kind::unpacked_named:
                if (!value.is_dict())
                    throw Fault(fmt::format("expected a dict behind **, found {}", value.type_name()));
                for (const auto& [key, item] : value.dict().entries()) {
                    if (!key.is_text()) throw Fault("expected a dict with names behind **");
                    result.named.emplace_back(key.text(), item);
                }
                break;
        }
    }
    return result;
}

Value Interpreter::evaluate(const FilterExpr& node) {
    const Value input = node.input ? evaluate(*node.input) : block_text_;
    return apply_filter(node.name, input, evaluate_arguments(node.arguments), context_);
}

Value Interpreter::evaluate(const TestExpr& node) {
    const Value input = evaluate(*node.input);
    return Value(apply_test(node.name, input, evaluate_arguments(node.arguments), context_) != node.negated);
}

Value Interpreter::evaluate(const Unary& node) {
    const Value operand = evaluate(*node.operand);
    switch (node.op) {
        case UnaryOp::logical_not:
            return Value(!is_true(operand));
        case UnaryOp::minus:
            return negative(operand);
        case UnaryOp::plus:
            return negative(negative(operand));
    }
    return Value();
}

Value Interpreter::evaluate(const Binary& node) {
    const Value left = evaluate(*node.left);
    return binary(node.op, left, evaluate(*node.right), budget());
}

Value Interpreter::evaluate(const Concat& node) {
    std::string text;
    for (const ExprPtr& part : node.parts) {
        const std::string next = to_text(evaluate(*part), budget());
        budget().make(next.size());
        text += next;
    }
    return Value(std::move(text));
}

Value Interpreter::evaluate(const Logical& node) {
    Value left = evaluate(*node.left);
    return is_true(left) == node.is_and ? evaluate(*node.right) : left;
}

Value Interpreter::evaluate(const Comparison& node) {
    Value left = evaluate(*node.first);
    for (const auto& [op, operand] : node.rest) {
        Value right = evaluate(*operand);
        if (!compare(op, left, right, budget())) return Value(false);
        left = std::move(right);
    }
    return Value(true);
}

Value Interpreter::evaluate(const Conditional& node) {
    if (is_true(evaluate(*node.condition))) return evaluate(*node.then);
    return node.otherwise ? evaluate(*node.otherwise) : Value();
}

}  // namespace plait::text::jinja
