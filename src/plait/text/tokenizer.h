#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "plait/text/byte_level.h"
#include "plait/text/marked_tokens.h"
#include "plait/text/sentencepiece.h"
#include "plait/text/vocab_spec.h"
#include "plait/text/vocabulary.h"

namespace plait::text {

struct EncodeOptions {
    // The begin token first, even if the text spells one. Tokenizer::adds_bos() says what the model expects.
    bool add_bos = false;
    bool add_eos = false;  // the end token last
    // Control and unknown tokens that the text spells become those tokens. For prompts made by a template;
    // text from outside must not be able to end a turn.
    bool parse_special = false;
};

struct DecodeOptions {
    bool special = false;  // control, unknown and unused tokens show as their text, otherwise as nothing
    // The ids go on from others, so that the first of them keeps its leading space.
    bool continues = false;
};

// Has the tokenizer cut text as the models that name the pre-tokenizer `name` do, whatever the file says.
// Throws Error for an algorithm that has none; the name itself is checked by Tokenizer.
void override_pre_tokenizer(VocabSpec& spec, std::string_view name);

// Text to token ids and back, for one model's vocabulary. Const methods are thread-safe.
//
// User-defined tokens, and with parse_special the control and unknown ones, are taken from the text first
// (leftmost, longest). What lies between is encoded by the file's algorithm: ByteLevel (GGUF's "gpt2") or
// SentencePiece ("llama"). Text need not be UTF-8.
//
// With byte-level BPE decoding gives the text back, byte for byte, if the vocabulary has all 256 bytes; bytes
// it lacks are left out. SentencePiece models may want a space before a text and, as in the field's other
// engines, after each special token; decoding takes back only the one before the text, which is the first
// token's, or that of the first one after a begin token.
class Tokenizer {
  public:
    // Throws Error for an algorithm or pre-tokenizer that Plait does not know, and for whatever Vocabulary,
    // MarkedTokens and the algorithm refuse. Warns of a byte-level vocabulary that does not name its
    // pre-tokenizer. Takes 0.3 s for 128 000 tokens and 280 000 merges.
    explicit Tokenizer(const VocabSpec& spec);

    // Time grows with n log n of the longest piece, or of the text with SentencePiece. Throws Error for text
    // of 2 GiB or more, and when asked for a begin or end token that the model does not have.
    std::vector<int32_t> encode(std::string_view text, EncodeOptions options = {}) const;
    // The bytes of all tokens; they need not be UTF-8 if the ids are a part of a text. Throws Error for an id
    // that names no token, like piece().
    std::string decode(std::span<const int32_t> ids, DecodeOptions options = {}) const;
    // What one token adds to decode() when others precede it: lives as long as the tokenizer.
    std::string_view piece(int32_t id, DecodeOptions options = {.special = true}) const;

    int32_t size() const { return vocabulary_.size(); }
    const SpecialIds& ids() const { return vocabulary_.ids(); }
    // Whether prompts of this model begin with its begin token and end with its end token: what the file
    // says, else what the models of its algorithm or pre-tokenizer do; never without such a token.
    bool adds_bos() const { return adds_bos_; }
    bool adds_eos() const { return adds_eos_; }
    // Whether a space goes before every text, so that its first word is written as within a sentence.
    bool adds_space_prefix() const { return space_prefix_; }
    // Where generation stops, ascending; see stop_tokens().
    const std::vector<int32_t>& end_of_generation() const { return stops_; }

  private:
    template <class Algorithm>
    void append(const Algorithm& algorithm, std::string_view text, const MarkedTokens& marked,
                std::vector<int32_t>& ids) const;

    Vocabulary vocabulary_;
    std::variant<ByteLevel, SentencePiece> model_;
    MarkedTokens user_defined_;
    MarkedTokens all_marked_;
    std::vector<int32_t> stops_;
    bool space_prefix_;
    bool adds_bos_;
    bool adds_eos_;
};

}  // namespace plait::text
