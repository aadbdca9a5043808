#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plait/text/vocab_spec.h"

namespace plait::text {

// For tests: tests/golden/text/small_bpe.json, all 256 bytes, a hundred merges, a few special tokens, and the
// ids that an independent tokenizer gives some texts.
struct SmallVocabulary {
    struct Case {
        std::string pre;
        std::string text;
        bool parse_special;
        std::vector<int32_t> ids;
    };
    std::vector<std::string> tokens;
    std::vector<int32_t> token_types;
    std::vector<std::string> merges;
    std::vector<Case> cases;

    // Views this object. The begin and end token is <|endoftext|>.
    VocabSpec spec(std::string_view pre) const;
    int32_t id(std::string_view token) const;
};

const SmallVocabulary& small_vocabulary();

}  // namespace plait::text
