#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plait/text/vocab_spec.h"

namespace plait::text {

// For tests: a small vocabulary of tests/golden/text, and the ids that an independent tokenizer gives some
// texts.
struct SmallVocabulary {
    struct Case {
        std::string variant;  // a name that spec() takes
        std::string text;
        bool parse_special;
        std::vector<int32_t> ids;
    };
    std::vector<std::string> tokens;
    std::vector<int32_t> token_types;
    std::vector<std::string> merges;
    std::vector<float> scores;
    std::vector<Case> cases;

    // Each views this object. Byte-level BPE: `variant` is a pre-tokenizer, and <|endoftext|> begins and ends
    // a text. SentencePiece: the variants are "prefix" and "no-prefix", with a space before each text and
    // without, and "no-bytes", the first without tokens for bytes.
    VocabSpec spec(std::string_view variant) const;
    int32_t id(std::string_view token) const;
    // The variants for which there are cases, each once.
    std::vector<std::string> variants() const;
};

// All 256 bytes, a hundred merges, a few special tokens.
const SmallVocabulary& small_vocabulary();
// All 256 bytes, 330 pieces of text, a few special tokens.
const SmallVocabulary& small_sentencepiece();

}  // namespace plait::text
