#include "plait/text/jinja/expr_parser.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "plait/text/jinja/token_stream.h"

namespace plait::text::jinja {
namespace {

template <class Node>
ExprPtr make(Place place, Node node) {
    return std::make_unique<const Expr>(Expr{place, std::move(node)});
}

struct NamedCompareOp {
    std::string_view text;
    CompareOp op;
};
constexpr std::array<NamedCompareOp, 6> kCompareOps = {{{"==", CompareOp::equal},
                                                        {"!=", CompareOp::not_equal},
                                                        {"<", CompareOp::less},
                                                        {"<=", CompareOp::less_equal},
                                                        {">", CompareOp::greater},
                                                        {">=", CompareOp::greater_equal}}};

struct NamedBinaryOp {
    std::string_view text;
    BinaryOp op;
};
constexpr std::array<NamedBinaryOp, 2> kSums = {{{"+", BinaryOp::add}, {"-", BinaryOp::subtract}}};
constexpr std::array<NamedBinaryOp, 4> kProducts = {{{"*", BinaryOp::multiply},
                                                     {"/", BinaryOp::divide},
                                                     {"//", BinaryOp::floor_divide},
                                                     {"%", BinaryOp::modulo}}};
constexpr std::array<NamedBinaryOp, 1> kPowers = {{{"**", BinaryOp::power}}};

// operand (op operand)*, grouping to the left.
template <class Ops, class Operand>
ExprPtr left_chain(TokenStream& tokens, const Ops& ops, const Operand& operand) {
    ExprPtr left = operand();
    while (tokens.is(TokenKind::operation)) {
        const auto found = std::ranges::find(ops, std::string_view(tokens.peek().text), &NamedBinaryOp::text);
        if (found == ops.end()) break;
        const Place place = tokens.next().place;
        tokens.count_operator();
        ExprPtr right = operand();
        left = make(place, Binary{found->op, std::move(left), std::move(right)});
    }
    return left;
}

std::optional<Value> constant_named(std::string_view name) {
    if (name == "true" || name == "True") return Value(true);
    if (name == "false" || name == "False") return Value(false);
    if (name == "none" || name == "None") return Value(None());
    return std::nullopt;
}

}  // namespace

ExprPtr ExprParser::expression() {
    const TokenStream::Inside inside(tokens_);
    ExprPtr value = either();
    while (tokens_.is_word("if")) {
        const Place place = tokens_.next().place;
        tokens_.count_operator();
        ExprPtr condition = either();
        ExprPtr otherwise = tokens_.take_word("else") ? expression() : nullptr;
        value = make(place, Conditional{std::move(condition), std::move(value), std::move(otherwise)});
    }
    return value;
}

ExprPtr ExprParser::without_condition() {
    const TokenStream::Inside inside(tokens_);
    const Place place = tokens_.place();
    ExprPtr first = either();
    if (!tokens_.is_operation(",")) return first;
    std::vector<ExprPtr> items;
    items.push_back(std::move(first));
    while (tokens_.take_operation(",") && !tokens_.is(TokenKind::block_end) && !tokens_.is_word("if")) {
        items.push_back(either());
    }
    return make(place, TupleExpr{std::move(items)});
}

ExprPtr ExprParser::expression_or_tuple() {
    const Place place = tokens_.place();
    ExprPtr first = expression();
    if (!tokens_.is_operation(",")) return first;
    std::vector<ExprPtr> items;
    items.push_back(std::move(first));
    const auto at_end = [this] {
        return tokens_.is(TokenKind::block_end) || tokens_.is(TokenKind::variable_end) ||
               tokens_.is_operation(")") || tokens_.is_operation("]");
    };
    while (tokens_.take_operation(",") && !at_end()) items.push_back(expression());
    return make(place, TupleExpr{std::move(items)});
}

ExprPtr ExprParser::either() {
    ExprPtr left = both();
    while (tokens_.is_word("or")) {
        const Place place = tokens_.next().place;
        tokens_.count_operator();
        ExprPtr right = both();
        left = make(place, Logical{false, std::move(left), std::move(right)});
    }
    return left;
}

ExprPtr ExprParser::both() {
    ExprPtr left = negation();
    while (tokens_.is_word("and")) {
        const Place place = tokens_.next().place;
        tokens_.count_operator();
        ExprPtr right = negation();
        left = make(place, Logical{true, std::move(left), std::move(right)});
    }
    return left;
}

ExprPtr ExprParser::negation() {
    if (!tokens_.is_word("not")) return comparison();
    const TokenStream::Inside inside(tokens_);
    const Place place = tokens_.next().place;
    return make(place, Unary{UnaryOp::logical_not, negation()});
}

ExprPtr ExprParser::comparison() {
    const Place place = tokens_.place();
    ExprPtr first = sum();
    std::vector<std::pair<CompareOp, ExprPtr>> rest;
    CompareOp op = CompareOp::equal;
    while (comparison_operator(op)) rest.emplace_back(op, sum());
    return rest.empty() ? std::move(first) : make(place, Comparison{std::move(first), std::move(rest)});
}

bool ExprParser::comparison_operator(CompareOp& op) {
    if (tokens_.take_word("in")) {
        op = CompareOp::in;
        return true;
    }
    if (tokens_.is_word("not") && tokens_.is_word("in", 1)) {
        tokens_.next();
        tokens_.next();
        op = CompareOp::not_in;
        return true;
    }
    if (!tokens_.is(TokenKind::operation)) return false;
    const auto found =
        std::ranges::find(kCompareOps, std::string_view(tokens_.peek().text), &NamedCompareOp::text);
    if (found == kCompareOps.end()) return false;
    op = found->op;
    tokens_.next();
    return true;
}

ExprPtr ExprParser::sum() {
    return left_chain(tokens_, kSums, [this] { return concatenation(); });
}

ExprPtr ExprParser::concatenation() {
    const Place place = tokens_.place();
    ExprPtr first = product();
    if (!tokens_.is_operation("~")) return first;
    std::vector<ExprPtr> parts;
    parts.push_back(std::move(first));
    while (tokens_.take_operation("~")) parts.push_back(product());
    return make(place, Concat{std::move(parts)});
}

ExprPtr ExprParser::product() {
    return left_chain(tokens_, kProducts, [this] { return power(); });
}

// Unlike in Python, ** groups to the left.
ExprPtr ExprParser::power() {
    return left_chain(tokens_, kPowers, [this] { return sign(/*with_filters=*/true); });
}

ExprPtr ExprParser::sign(bool with_filters) {
    ExprPtr value;
    if (tokens_.is_operation("-") || tokens_.is_operation("+")) {
        const TokenStream::Inside inside(tokens_);
        const Token op = tokens_.next();
        value = make(op.place, Unary{op.text == "-" ? UnaryOp::minus : UnaryOp::plus, sign(false)});
    } else {
        value = primary();
    }
    value = postfix(std::move(value));
    return with_filters ? filters_and_tests(std::move(value)) : std::move(value);
}

ExprPtr ExprParser::primary() {
    switch (tokens_.peek().kind) {
        case TokenKind::name:
            return word();
        case TokenKind::string:
            return strings();
        case TokenKind::integer:
        case TokenKind::real:
            return number();
        default:
            break;
    }
    if (tokens_.is_operation("(")) return parentheses();
    if (tokens_.is_operation("[")) return list();
    if (tokens_.is_operation("{")) return dict();
    tokens_.unexpected("an expression");
}

ExprPtr ExprParser::word() {
    const Token token = tokens_.next();
    if (auto constant = constant_named(token.text)) return make(token.place, Constant{*constant});
    if (token.text == "varargs") ++uses_of_varargs_;
    if (token.text == "kwargs") ++uses_of_kwargs_;
    return make(token.place, Name{token.text});
}

ExprPtr ExprParser::strings() {
    Token token = tokens_.next();
    while (tokens_.is(TokenKind::string)) token.text += tokens_.next().text;
    return make(token.place, Constant{Value(std::move(token.text))});
}

ExprPtr ExprParser::number() {
    const Token token = tokens_.next();
    const char* end = token.text.data() + token.text.size();
    if (token.kind == TokenKind::integer) {
        int64_t number = 0;
        if (std::from_chars(token.text.data(), end, number).ec != std::errc()) {
            fail_at(token.place, fmt::format("the integer {} does not fit in 64 bits", token.text));
        }
        return make(token.place, Constant{Value(number)});
    }
    double number = 0;
    if (std::from_chars(token.text.data(), end, number).ec != std::errc()) {
        fail_at(token.place, fmt::format("the number {} does not fit in 64 bits", token.text));
    }
    return make(token.place, Constant{Value(number)});
}

ExprPtr ExprParser::parentheses() {
    const Place place = tokens_.next().place;
    if (tokens_.take_operation(")")) return make(place, TupleExpr{});
    ExprPtr inner = expression_or_tuple();
    tokens_.expect_operation(")");
    return inner;
}

ExprPtr ExprParser::list() {
    const Place place = tokens_.next().place;
    std::vector<ExprPtr> items;
    while (!tokens_.take_operation("]")) {
        if (!items.empty()) {
            tokens_.expect_operation(",");
            if (tokens_.take_operation("]")) break;
        }
        items.push_back(expression());
    }
    return make(place, ListExpr{std::move(items)});
}

ExprPtr ExprParser::dict() {
    const Place place = tokens_.next().place;
    std::vector<std::pair<ExprPtr, ExprPtr>> entries;
    while (!tokens_.take_operation("}")) {
        if (!entries.empty()) {
            tokens_.expect_operation(",");
            if (tokens_.take_operation("}")) break;
        }
        ExprPtr key = expression();
        tokens_.expect_operation(":");
        entries.emplace_back(std::move(key), expression());
    }
    return make(place, DictExpr{std::move(entries)});
}

ExprPtr ExprParser::postfix(ExprPtr object) {
    while (true) {
        if (tokens_.is_operation(".")) {
            object = attribute(std::move(object));
        } else if (tokens_.is_operation("[")) {
            object = subscript(std::move(object));
        } else if (tokens_.is_operation("(")) {
            const Place place = tokens_.place();
            tokens_.count_operator();
            auto arguments = call_arguments();
            object = make(place, CallExpr{std::move(object), std::move(arguments)});
        } else {
            return object;
        }
    }
}

ExprPtr ExprParser::call() { return postfix(primary()); }

ExprPtr ExprParser::attribute(ExprPtr object) {
    const Place place = tokens_.next().place;
    tokens_.count_operator();
    if (tokens_.is(TokenKind::integer)) return make(place, Item{std::move(object), number()});
    const Token name = tokens_.expect(TokenKind::name, "the name of an attribute");
    return make(name.place, Attribute{std::move(object), name.text});
}

ExprPtr ExprParser::subscript(ExprPtr object) {
    const Place place = tokens_.next().place;
    tokens_.count_operator();
    if (tokens_.is_operation(":")) return slice(std::move(object), nullptr, place);
    ExprPtr key = expression_or_tuple();
    if (tokens_.is_operation(":")) return slice(std::move(object), std::move(key), place);
    tokens_.expect_operation("]");
    return make(place, Item{std::move(object), std::move(key)});
}

ExprPtr ExprParser::slice(ExprPtr object, ExprPtr start, Place place) {
    tokens_.expect_operation(":");
    const auto bound = [this]() -> ExprPtr {
        return tokens_.is_operation(":") || tokens_.is_operation("]") ? nullptr : expression();
    };
    ExprPtr stop = bound();
    ExprPtr step = tokens_.take_operation(":") ? bound() : nullptr;
    tokens_.expect_operation("]");
    return make(place, Slice{std::move(object), std::move(start), std::move(stop), std::move(step)});
}

ExprPtr ExprParser::filters_and_tests(ExprPtr input) {
    while (true) {
        if (tokens_.is_operation("|")) {
            input = filter(std::move(input));
        } else if (tokens_.is_word("is")) {
            input = test(std::move(input));
        } else if (tokens_.is_operation("(")) {
            const Place place = tokens_.place();
            tokens_.count_operator();
            auto arguments = call_arguments();
            input = make(place, CallExpr{std::move(input), std::move(arguments)});
        } else {
            return input;
        }
    }
}

ExprPtr ExprParser::filter_chain(ExprPtr input) {
    do {
        input = filter(std::move(input));
    } while (tokens_.is_operation("|"));
    return input;
}

// From the "|" on; the first of a {% filter %} tag has none.
ExprPtr ExprParser::filter(ExprPtr input) {
    tokens_.take_operation("|");
    tokens_.count_operator();
    const Token name = tokens_.expect(TokenKind::name, "the name of a filter");
    auto arguments = tokens_.is_operation("(") ? call_arguments() : std::vector<Argument>();
    return make(name.place, FilterExpr{std::move(input), name.text, std::move(arguments)});
}

ExprPtr ExprParser::test(ExprPtr input) {
    tokens_.next();
    tokens_.count_operator();
    const bool negated = tokens_.take_word("not");
    const Token name = tokens_.expect(TokenKind::name, "the name of a test");
    std::vector<Argument> arguments;
    if (tokens_.is_operation("(")) {
        arguments = call_arguments();
    } else if (starts_test_argument()) {
        const TokenStream::Inside inside(tokens_);
        arguments.push_back({Argument::Kind::positional, "", postfix(primary())});
    }
    return make(name.place, TestExpr{std::move(input), name.text, std::move(arguments), negated});
}

// `x is divisibleby 3`: an argument without brackets.
bool ExprParser::starts_test_argument() const {
    if (tokens_.is_word("is"))
        fail_at(tokens_.place(), "expected one test, found two in a row; put brackets around one");
    switch (tokens_.peek().kind) {
        case TokenKind::name:
            return !tokens_.is_word("else") && !tokens_.is_word("or") && !tokens_.is_word("and");
        case TokenKind::string:
        case TokenKind::integer:
        case TokenKind::real:
            return true;
        default:
            return tokens_.is_operation("[") || tokens_.is_operation("{");
    }
}

std::vector<Argument> ExprParser::call_arguments() {
    tokens_.expect_operation("(");
    std::vector<Argument> arguments;
    while (!tokens_.take_operation(")")) {
        if (!arguments.empty()) {
            tokens_.expect_operation(",");
            if (tokens_.take_operation(")")) break;
        }
        const Place place = tokens_.place();
        arguments.push_back(argument());
        const bool after_named = arguments.size() > 1 &&
                                 arguments.back().kind == Argument::Kind::positional &&
                                 arguments[arguments.size() - 2].kind != Argument::Kind::positional;
        if (after_named)
            fail_at(place, "expected a named argument after the one before, found one without a name");
    }
    return arguments;
}

Argument ExprParser::argument() {
    if (tokens_.take_operation("**")) return {Argument::Kind::unpacked_named, "", expression()};
    if (tokens_.take_operation("*")) return {Argument::Kind::unpacked, "", expression()};
    if (tokens_.is(TokenKind::name) && tokens_.is_operation("=", 1)) {
        std::string name = tokens_.next().text;
        tokens_.next();
        return {Argument::Kind::named, std::move(name), expression()};
    }
    return {Argument::Kind::positional, "", expression()};
}

}  // namespace plait::text::jinja
