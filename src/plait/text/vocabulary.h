#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plait/text/vocab_spec.h"

namespace plait::text {

// The checked tokens of a byte-level vocabulary, each with the bytes it stands for. Const methods are
// thread-safe.
//
// A control, unknown or user-defined token stands for its text as it is written. So does any other token with
// a character outside the byte alphabet; such a token can be decoded and is never the result of encoding.
class Vocabulary {
  public:
    // Throws Error when the lists do not have one entry per token, a type is unknown, an id names no token,
    // or there are no tokens.
    explicit Vocabulary(const VocabSpec& spec);
    Vocabulary(Vocabulary&&) = default;
    Vocabulary(const Vocabulary&) = delete;
    Vocabulary& operator=(const Vocabulary&) = delete;

    int32_t size() const { return static_cast<int32_t>(types_.size()); }
    const SpecialIds& ids() const { return ids_; }
    // Both throw Error for an id that names no token. A view lives as long as the vocabulary.
    std::string_view bytes(int32_t id) const;
    TokenType type(int32_t id) const;
    // The token spelled in the byte alphabet that stands for just these bytes. Of several the last, as in the
    // field's other engines.
    std::optional<int32_t> find(std::string_view bytes) const;

  private:
    void store_tokens(const VocabSpec& spec);
    void index_tokens();
    void check(int32_t id) const;

    std::vector<TokenType> types_;
    std::vector<bool> byte_level_;  // spelled in the byte alphabet
    // Of all tokens, one after the other; token id's are [starts_[id], starts_[id + 1]). A vector, since
    // moving one keeps views of it valid.
    std::vector<char> bytes_;
    std::vector<size_t> starts_;
    std::unordered_map<std::string_view, int32_t> id_of_;
    SpecialIds ids_;
};

}  // namespace plait::text
