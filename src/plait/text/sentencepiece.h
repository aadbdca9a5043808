#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/text/vocabulary.h"

namespace plait::text {

// SentencePiece's byte-pair encoding (Kudo, Richardson 2018; GGUF's "llama"). A text begins as one symbol per
// character; of the adjacent pairs that together are a token, that of the best score, the leftmost of equals,
// becomes one symbol, until no pair is a token. A character that is no token falls back to its bytes' tokens;
// if the vocabulary lacks one of those, to the unknown token, one for a run of such characters; and if there
// is none, to nothing. A byte that is part of no character is handled as a character.
//
// Nothing is normalised, save that U+2581 in a text is a space, for tokens cannot tell the two apart.
//
// n bytes take O(n log n) time, each step at most kLongest, and no recursion: symbols are a linked list,
// pairs a heap. Const methods are thread-safe, each caller with its own Scratch.
class SentencePiece {
  public:
    // Above this, a token is refused (Error), so that no file makes a step slow.
    static constexpr size_t kLongest = 1024;

    // The vocabulary is one in SentencePiece's spelling, the same in all calls. With `space_prefix`, every
    // text gets a space before it. Throws Error if there is not one score per token, or one is not a number.
    SentencePiece(const Vocabulary& vocabulary, std::span<const float> scores, bool space_prefix);

    // Memory that calls reuse; what it holds between calls means nothing.
    class Scratch {
        friend class SentencePiece;
        struct Symbol {
            uint32_t start;
            uint32_t bytes;  // 0: merged away
            uint32_t previous;
            uint32_t next;
            int32_t id;  // kNoToken: a character, not looked up yet
        };
        struct Candidate {
            float score;
            uint32_t left;   // symbol
            uint32_t bytes;  // of both
            int32_t id;      // of the token they are
        };
        std::string text;
        std::vector<Symbol> symbols;
        std::vector<Candidate> candidates;  // heap, best first
    };

    // Appends the ids of `text` (fewer than 2^32 - 2 bytes); none for an empty one.
    void append(const Vocabulary& vocabulary, std::string_view text, Scratch& scratch,
                std::vector<int32_t>& ids) const;

  private:
    static bool worse(const Scratch::Candidate& a, const Scratch::Candidate& b);
    void start(const Vocabulary& vocabulary, std::string_view text, Scratch& scratch) const;
    bool make_candidate(const Vocabulary& vocabulary, uint32_t left, Scratch& scratch) const;
    void consider(const Vocabulary& vocabulary, uint32_t left, Scratch& scratch) const;
    void apply(const Vocabulary& vocabulary, const Scratch::Candidate& best, Scratch& scratch) const;
    bool append_bytes(std::string_view character, std::vector<int32_t>& ids) const;
    void append_symbols(const Vocabulary& vocabulary, const Scratch& scratch,
                        std::vector<int32_t>& ids) const;

    std::vector<float> scores_;
    std::array<int32_t, 256> byte_ids_;
    size_t longest_ = 0;  // bytes of the longest token
    bool space_prefix_;
};

}  // namespace plait::text
