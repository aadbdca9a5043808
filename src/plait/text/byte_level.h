#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "plait/text/bpe.h"
#include "plait/text/pre_tokenizer.h"
#include "plait/text/vocabulary.h"

namespace plait::text {

// Byte-level BPE (Radford et al. 2019; GGUF's "gpt2"): a text is cut into pieces by the pre-tokenizer's
// patterns, and each piece merged from its bytes. Nothing is normalised; a byte that is part of no character
// is a piece of its own. Const methods are thread-safe, each caller with its own Scratch.
class ByteLevel {
  public:
    // The vocabulary is one in the byte alphabet, the same in all calls.
    ByteLevel(const Vocabulary& vocabulary, const PreRule& rule, std::span<const std::string_view> merges);

    struct Scratch {
        PreTokenizer::Scratch pre;
        Bpe::Scratch bpe;
    };

    // Appends the ids of `text`.
    void append(const Vocabulary& vocabulary, std::string_view text, Scratch& scratch,
                std::vector<int32_t>& ids) const;

  private:
    bool whole_tokens_;
    PreTokenizer pre_tokenizer_;
    Bpe bpe_;
};

}  // namespace plait::text
