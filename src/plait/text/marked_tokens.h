#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace plait::text {

// Finds tokens that are matched as they are written (control, user-defined) in a text: the leftmost, and of
// those that start there the longest. A search costs at most text times the longest token's length, however
// many tokens there are; mostly one look per byte. Const methods are thread-safe.
class MarkedTokens {
  public:
    struct Token {
        std::string_view text;  // belongs to the vocabulary
        int32_t id;
        bool strips = false;  // a match takes in the white space after it (ASCII's, as in other engines)
    };
    struct Match {
        size_t start;
        size_t end;
        int32_t id;
    };

    // Above this, a token's text is refused (Error), so that no file makes a search slow.
    static constexpr size_t kLongest = 1024;

    // Tokens without text are never found; of equal texts the last is.
    explicit MarkedTokens(std::vector<Token> tokens);

    // The first match at or after `from`.
    std::optional<Match> find(std::string_view text, size_t from) const;

  private:
    const Token* longest_at(std::string_view text, size_t start) const;

    std::vector<Token> tokens_;             // by text
    std::array<uint32_t, 257> by_first_{};  // tokens that begin with byte b: [by_first_[b], by_first_[b + 1])
};

}  // namespace plait::text
