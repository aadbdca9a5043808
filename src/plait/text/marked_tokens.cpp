#include "plait/text/marked_tokens.h"

#include <fmt/format.h>

#include <algorithm>

#include "plait/base/error.h"
#include "plait/base/quote.h"

namespace plait::text {
namespace {

uint8_t byte_at(std::string_view text, size_t at) { return static_cast<uint8_t>(text[at]); }

// Keeps the last of each run of equal texts.
void drop_repeated(std::vector<MarkedTokens::Token>& sorted) {
    const auto kept = std::unique(sorted.rbegin(), sorted.rend(),
                                  [](const auto& a, const auto& b) { return a.text == b.text; });
    sorted.erase(sorted.begin(), kept.base());
}

size_t end_of_white_space(std::string_view text, size_t from) {
    return std::min(text.find_first_not_of(" \t\n\v\f\r", from), text.size());
}

}  // namespace

MarkedTokens::MarkedTokens(std::vector<Token> tokens) : tokens_(std::move(tokens)) {
    std::erase_if(tokens_, [](const Token& token) { return token.text.empty(); });
    for (const Token& token : tokens_)
        if (token.text.size() > kLongest)
            throw Error(fmt::format("tokenizer: special token {} ({}) has {} bytes, expected at most {}",
                                    token.id, quote(token.text, 20), token.text.size(), kLongest));
    std::ranges::stable_sort(tokens_, {}, &Token::text);
    drop_repeated(tokens_);
    for (const Token& token : tokens_) ++by_first_[byte_at(token.text, 0) + 1];
    for (size_t byte = 1; byte < by_first_.size(); ++byte) by_first_[byte] += by_first_[byte - 1];
}

std::optional<MarkedTokens::Match> MarkedTokens::find(std::string_view text, size_t from) const {
    for (size_t start = from; start < text.size(); ++start)
        if (const Token* token = longest_at(text, start)) {
            const size_t end = start + token->text.size();
            return Match{start, token->strips ? end_of_white_space(text, end) : end, token->id};
        }
    return std::nullopt;
}

// Narrows the range of tokens that agree with the text so far, byte by byte.
const MarkedTokens::Token* MarkedTokens::longest_at(std::string_view text, size_t start) const {
    const uint8_t first = byte_at(text, start);
    auto begin = tokens_.begin() + by_first_[first];
    auto end = tokens_.begin() + by_first_[first + 1];
    const Token* longest = nullptr;
    for (size_t length = 1; begin != end; ++length) {
        if (begin->text.size() == length) {  // a text sorts before those it begins
            longest = &*begin;
            ++begin;
        }
        if (start + length == text.size()) break;
        const uint8_t next = byte_at(text, start + length);
        const auto next_of = [length](const Token& token) { return byte_at(token.text, length); };
        begin = std::ranges::lower_bound(begin, end, next, {}, next_of);
        end = std::ranges::upper_bound(begin, end, next, {}, next_of);
    }
    return longest;
}

}  // namespace plait::text
