#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "plait/text/vocab_spec.h"

namespace plait::text {

// How a vocabulary writes the bytes that its tokens stand for.
enum class Spelling {
    // Each byte is one printable character (byte_alphabet.h). A token with any other character stands for its
    // text as it is written; it can be decoded and is never the result of encoding.
    ByteAlphabet,
    // As they are, except that a space is U+2581; tokens of type Byte are <0x00> to <0xFF>. Where no types
    // are given, those so written are bytes.
    SentencePiece,
};

// The checked tokens of a vocabulary, each with the bytes it stands for. Control and unknown tokens stand for
// their text as it is written, user-defined ones too in the byte alphabet. Const methods are thread-safe.
class Vocabulary {
  public:
    // Throws Error when the lists do not have one entry per token, a type is unknown, a byte token is not
    // written as one, an id names no token, or there are no tokens.
    explicit Vocabulary(const VocabSpec& spec, Spelling spelling = Spelling::ByteAlphabet);
    Vocabulary(Vocabulary&&) = default;
    Vocabulary(const Vocabulary&) = delete;
    Vocabulary& operator=(const Vocabulary&) = delete;

    int32_t size() const { return static_cast<int32_t>(types_.size()); }
    // What the file names; in a SentencePiece vocabulary, where it names none, SentencePiece's own: 1 begins
    // and 2 ends a text if they are control tokens, and the first unknown token is the unknown token.
    const SpecialIds& ids() const { return ids_; }
    // Both throw Error for an id that names no token. A view lives as long as the vocabulary.
    std::string_view bytes(int32_t id) const;
    TokenType type(int32_t id) const;
    // The token, spelled as text, that stands for just these bytes; never a control, unknown or Byte token.
    // Of several the last, as in the field's other engines.
    std::optional<int32_t> find(std::string_view bytes) const;

  private:
    void store_tokens(const VocabSpec& spec, Spelling spelling);
    void index_tokens();
    // The slot of a token with these bytes, or the free one where it would go.
    size_t slot_of(std::string_view bytes) const;
    void check(int32_t id) const;

    std::vector<TokenType> types_;
    std::vector<bool> is_text_;  // spelled as text: find() may answer with it
    // Of all tokens, one after the other; token id's are [starts_[id], starts_[id + 1]). A vector, since
    // moving one keeps views of it valid.
    std::vector<char> bytes_;
    std::vector<size_t> starts_;
    std::vector<int32_t> slots_;  // ids by their bytes' hash, by open addressing; -1: free
    SpecialIds ids_;
};

}  // namespace plait::text
