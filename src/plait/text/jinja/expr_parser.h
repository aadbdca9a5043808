#pragma once

#include <vector>

#include "plait/text/jinja/ast.h"

namespace plait::text::jinja {

class TokenStream;

// Parses expressions, with Jinja's precedence: conditional, or, and, not, comparisons, + -, ~, * / // %, **,
// signs, then attributes, items, calls, filters and tests (Jinja documentation, "Expressions"). Throws Error.
class ExprParser {
  public:
    explicit ExprParser(TokenStream& tokens) : tokens_(tokens) {}

    ExprPtr expression();                    // with `a if b else c`
    ExprPtr expression_or_tuple();           // also `a, b`
    ExprPtr without_condition();             // what `for` walks: `if` after it is not its own
    ExprPtr filter_chain(ExprPtr input);     // |f|g(x); input null: the text of a block
    std::vector<Argument> call_arguments();  // (a, b=c)
    ExprPtr call();                          // what {% call %} calls: anything postfix

    // How often the names were seen that let a macro take any arguments.
    int uses_of_varargs() const { return uses_of_varargs_; }
    int uses_of_kwargs() const { return uses_of_kwargs_; }

  private:
    ExprPtr either();
    ExprPtr both();
    ExprPtr negation();
    ExprPtr comparison();
    bool comparison_operator(CompareOp& op);
    ExprPtr sum();
    ExprPtr concatenation();
    ExprPtr product();
    ExprPtr power();
    ExprPtr sign(bool with_filters);
    ExprPtr primary();
    ExprPtr word();
    ExprPtr strings();
    ExprPtr number();
    ExprPtr parentheses();
    ExprPtr list();
    ExprPtr dict();
    ExprPtr postfix(ExprPtr object);
    ExprPtr attribute(ExprPtr object);
    ExprPtr subscript(ExprPtr object);
    ExprPtr slice(ExprPtr object, ExprPtr start, Place place);
    ExprPtr filters_and_tests(ExprPtr input);
    ExprPtr filter(ExprPtr input);
    ExprPtr test(ExprPtr input);
    bool starts_test_argument() const;
    Argument argument();

    TokenStream& tokens_;
    int uses_of_varargs_ = 0;
    int uses_of_kwargs_ = 0;
};

}  // namespace plait::text::jinja
