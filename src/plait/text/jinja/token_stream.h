#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "plait/text/jinja/budget.h"
#include "plait/text/jinja/lexer.h"

// What both halves of the parser read from. Included by their source files only.
namespace plait::text::jinja {

// "'if'", "text", "the end of the template": what a message calls a token.
std::string describe(const Token& token);

class TokenStream {
  public:
    explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

    const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
    Place place() const { return peek().place; }
    bool is(TokenKind kind) const { return peek().kind == kind; }
    bool is_operation(std::string_view text, size_t ahead = 0) const {
        return peek(ahead).kind == TokenKind::operation && peek(ahead).text == text;
    }
    bool is_word(std::string_view text, size_t ahead = 0) const {
        return peek(ahead).kind == TokenKind::name && peek(ahead).text == text;
    }

    Token next() {
        if (is(TokenKind::block_begin) || is(TokenKind::variable_begin)) operators_ = 0;
        Token token = peek();
        if (at_ + 1 < tokens_.size()) ++at_;
        return token;
    }
    bool take_operation(std::string_view text) { return is_operation(text) && (next(), true); }
    bool take_word(std::string_view text) { return is_word(text) && (next(), true); }

    Token expect(TokenKind kind, std::string_view what) {
        if (!is(kind)) unexpected(what);
        return next();
    }
    void expect_operation(std::string_view text) {
        if (!take_operation(text)) unexpected(fmt::format("'{}'", text));
    }
    void expect_word(std::string_view text) {
        if (!take_word(text)) unexpected(fmt::format("'{}'", text));
    }
    [[noreturn]] void unexpected(std::string_view wanted) const {
        fail_at(place(), fmt::format("expected {}, found {}", wanted, describe(peek())));
    }

    // One more operator in this tag.
    void count_operator() {
        if (++operators_ > kMaxOperators) {
            fail_at(place(),
                    fmt::format("expected at most {} operators in a tag, found more", kMaxOperators));
        }
    }

    // For as long as the parser is inside one more bracket or block.
    class Inside {
      public:
        explicit Inside(TokenStream& tokens) : tokens_(tokens) {
            if (tokens.nesting_ >= kMaxNesting) {
                fail_at(tokens.place(),
                        fmt::format("expected at most {} brackets and blocks inside one another, "
                                    "found more",
                                    kMaxNesting));
            }
            ++tokens.nesting_;
        }
        ~Inside() { --tokens_.nesting_; }
        Inside(const Inside&) = delete;
        Inside& operator=(const Inside&) = delete;

      private:
        TokenStream& tokens_;
    };

  private:
    std::vector<Token> tokens_;
    size_t at_ = 0;
    int nesting_ = 0;
    int operators_ = 0;
};

}  // namespace plait::text::jinja
