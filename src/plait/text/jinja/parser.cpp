#include "plait/text/jinja/parser.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>

#include "plait/base/quote.h"
#include "plait/text/jinja/expr_parser.h"
#include "plait/text/jinja/token_stream.h"

namespace plait::text::jinja {

std::string describe(const Token& token) {
    switch (token.kind) {
        case TokenKind::text:
            return "text";
        case TokenKind::block_begin:
            return "'{%'";
        case TokenKind::block_end:
            return "'%}'";
        case TokenKind::variable_begin:
            return "'{{'";
        case TokenKind::variable_end:
            return "'}}'";
        case TokenKind::string:
            return "the string " + quote(token.text);
        case TokenKind::name:
        case TokenKind::integer:
        case TokenKind::real:
        case TokenKind::operation:
            return quote(token.text);
        case TokenKind::end:
            return "the end of the template";
    }
    return "";
}

namespace {

class Parser {
  public:
    explicit Parser(std::string_view source) : tokens_(tokenize(source)), expressions_(tokens_) {}

    Block whole() { return statements({}); }

  private:
    using Parse = void (Parser::*)(Place, Block&);
    struct Tag {
        std::string_view name;
        Parse parse;
    };
    static const std::array<Tag, 11> kTags;

    // Up to a tag with one of these names, whose name is taken, its end not. With none: to the template's
    // end.
    Block statements(std::initializer_list<std::string_view> ends) {
        const TokenStream::Inside inside(tokens_);
        Block block;
        while (true) {
            const Place place = tokens_.place();
            if (tokens_.is(TokenKind::end)) {
                if (ends.size() == 0) return block;
                tokens_.unexpected(fmt::format("'{{% {} %}}'", *(ends.end() - 1)));
            }
            if (tokens_.is(TokenKind::text)) {
                block.push_back({place, TextStmt{tokens_.next().text}});
            } else if (tokens_.is(TokenKind::variable_begin)) {
                block.push_back(output());
            } else {
                tokens_.next();
                const Token name = tokens_.expect(TokenKind::name, "the name of a tag");
                if (std::ranges::find(ends, std::string_view(name.text)) != ends.end()) {
                    end_name_ = name.text;
                    return block;
                }
                tag(name, block);
            }
        }
    }

    Block body_until(std::string_view end) {
        end_tag();
        Block block = statements({end});
        end_tag();
        return block;
    }

    void end_tag() { tokens_.expect(TokenKind::block_end, "'%}'"); }

    Stmt output() {
        const Place place = tokens_.next().place;
        ExprPtr value = expressions_.expression_or_tuple();
        tokens_.expect(TokenKind::variable_end, "'}}'");
        return {place, OutputStmt{std::move(value)}};
    }

    void tag(const Token& name, Block& block) {
        const auto* found = std::ranges::find(kTags, std::string_view(name.text), &Tag::name);
        if (found == kTags.end()) {
            std::string known;
            for (const Tag& tag : kTags) known += (known.empty() ? "" : ", ") + std::string(tag.name);
            fail_at(name.place, fmt::format("unexpected tag {}; known: {}", quote(name.text), known));
        }
        (this->*found->parse)(name.place, block);
    }

    void if_tag(Place place, Block& block) {
        IfStmt result;
        do {
            ExprPtr condition = expressions_.expression_or_tuple();
            end_tag();
            Block branch = statements({"elif", "else", "endif"});
            result.branches.emplace_back(std::move(condition), std::move(branch));
        } while (end_name_ == "elif");
        if (end_name_ == "else") {
            end_tag();
            result.otherwise = statements({"endif"});
        }
        end_tag();
        block.push_back({place, std::move(result)});
    }

    void for_tag(Place place, Block& block) {
        ForStmt result;
        result.target = targets();
        tokens_.expect_word("in");
        result.iterable = expressions_.without_condition();
        if (tokens_.take_word("if")) result.condition = expressions_.expression();
        if (tokens_.is_word("recursive")) fail_at(tokens_.place(), "recursive loops are not supported");
        end_tag();
        ++loops_;
        result.body = statements({"else", "endfor"});
        --loops_;
        if (end_name_ == "else") {
            end_tag();
            result.otherwise = statements({"endfor"});
        }
        end_tag();
        block.push_back({place, std::move(result)});
    }

    void set_tag(Place place, Block& block) {
        Target target = targets();
        if (tokens_.take_operation("=")) {
            ExprPtr value = expressions_.expression_or_tuple();
            end_tag();
            block.push_back({place, SetStmt{std::move(target), std::move(value)}});
            return;
        }
        ExprPtr filter = tokens_.is_operation("|") ? expressions_.filter_chain(nullptr) : nullptr;
        block.push_back({place, SetBlockStmt{std::move(target), std::move(filter), body_until("endset")}});
    }

    void with_tag(Place place, Block& block) {
        WithStmt result;
        while (!tokens_.is(TokenKind::block_end)) {
            if (!result.values.empty()) tokens_.expect_operation(",");
            Target name = target();
            tokens_.expect_operation("=");
            result.values.emplace_back(std::move(name), expressions_.expression());
        }
        result.body = body_until("endwith");
        block.push_back({place, std::move(result)});
    }

    void macro_tag(Place place, Block& block) {
        const std::string name = tokens_.expect(TokenKind::name, "the name of a macro").text;
        auto macro = macro_body(name, parameters(), "endmacro");
        block.push_back({place, MacroStmt{std::move(macro)}});
    }

    void call_tag(Place place, Block& block) {
        auto parameters_of_block = tokens_.is_operation("(") ? parameters() : std::vector<Parameter>();
        const Place at = tokens_.place();
        ExprPtr call = expressions_.call();
        if (!std::holds_alternative<CallExpr>(call->node)) fail_at(at, "expected the call of a macro");
        auto caller = macro_body("caller", std::move(parameters_of_block), "endcall");
        block.push_back({place, CallStmt{std::move(call), std::move(caller)}});
    }

    void filter_tag(Place place, Block& block) {
        ExprPtr filter = expressions_.filter_chain(nullptr);
        block.push_back({place, FilterStmt{std::move(filter), body_until("endfilter")}});
    }

    void generation_tag(Place place, Block& block) {
        block.push_back({place, ScopeStmt{body_until("endgeneration")}});
    }

    void print_tag(Place place, Block& block) {
        do {
            block.push_back({place, OutputStmt{expressions_.expression()}});
        } while (tokens_.take_operation(","));
        end_tag();
    }

    void break_tag(Place place, Block& block) { leave_loop(place, block, BreakStmt()); }
    void continue_tag(Place place, Block& block) { leave_loop(place, block, ContinueStmt()); }

    template <class Leave>
    void leave_loop(Place place, Block& block, Leave leave) {
        if (loops_ == 0) fail_at(place, "expected this tag inside a loop");
        end_tag();
        block.push_back({place, leave});
    }

    std::shared_ptr<const MacroBody> macro_body(const std::string& name, std::vector<Parameter> parameters,
                                                std::string_view end) {
        auto macro = std::make_shared<MacroBody>();
        macro->name = name;
        macro->parameters = std::move(parameters);
        const int loops = std::exchange(loops_, 0);
        const int varargs = expressions_.uses_of_varargs(), kwargs = expressions_.uses_of_kwargs();
        macro->body = body_until(end);
        macro->takes_rest = expressions_.uses_of_varargs() > varargs;
        macro->takes_named_rest = expressions_.uses_of_kwargs() > kwargs;
        loops_ = loops;
        return macro;
    }

    std::vector<Parameter> parameters() {
        tokens_.expect_operation("(");
        std::vector<Parameter> result;
        while (!tokens_.take_operation(")")) {
            if (!result.empty()) {
                tokens_.expect_operation(",");
                if (tokens_.take_operation(")")) break;
            }
            const Token name = tokens_.expect(TokenKind::name, "the name of a parameter");
            ExprPtr standard = tokens_.take_operation("=") ? expressions_.expression() : nullptr;
            if (!standard && !result.empty() && result.back().standard) {
                fail_at(name.place, "expected a default, as the parameter before has one");
            }
            result.push_back({name.text, std::move(standard)});
        }
        return result;
    }

    // a, or a.b, or several with commas.
    Target targets() {
        const bool brackets = tokens_.take_operation("(");
        Target first = target();
        if (tokens_.is_operation(",")) {
            Target all{.place = first.place};
            all.parts.push_back(std::move(first));
            while (tokens_.take_operation(",") && starts_target()) all.parts.push_back(target());
            first = std::move(all);
        }
        if (brackets) tokens_.expect_operation(")");
        return first;
    }

    bool starts_target() const {
        return tokens_.is_operation("(") || (tokens_.is(TokenKind::name) && !tokens_.is_word("in"));
    }

    Target target() {
        if (tokens_.is_operation("(")) {
            const TokenStream::Inside inside(tokens_);
            return targets();
        }
        const Token name = tokens_.expect(TokenKind::name, "a name to assign to");
        for (const char* fixed : {"true", "false", "none", "True", "False", "None"}) {
            if (name.text == fixed) fail_at(name.place, fmt::format("cannot assign to {}", fixed));
        }
        Target result{.place = name.place, .name = name.text};
        if (tokens_.take_operation(".")) {
            result.attribute = tokens_.expect(TokenKind::name, "the name of an attribute").text;
        }
        return result;
    }

    TokenStream tokens_;
    ExprParser expressions_;
    std::string end_name_;  // of the tag that ended the last statements()
    int loops_ = 0;         // around here, in this macro
};

const std::array<Parser::Tag, 11> Parser::kTags = {{{"if", &Parser::if_tag},
                                                    {"for", &Parser::for_tag},
                                                    {"set", &Parser::set_tag},
                                                    {"with", &Parser::with_tag},
                                                    {"macro", &Parser::macro_tag},
                                                    {"call", &Parser::call_tag},
                                                    {"filter", &Parser::filter_tag},
                                                    {"generation", &Parser::generation_tag},
                                                    {"print", &Parser::print_tag},
                                                    {"break", &Parser::break_tag},
                                                    {"continue", &Parser::continue_tag}}};

}  // namespace

Block parse(std::string_view source) { return Parser(source).whole(); }

}  // namespace plait::text::jinja
