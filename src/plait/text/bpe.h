#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "plait/text/merge_table.h"
#include "plait/text/vocabulary.h"

namespace plait::text {

// Byte-pair encoding (Sennrich, Haddow, Birch 2016; over bytes: Radford et al. 2019). A piece begins as one
// symbol per byte; the adjacent pair of the best rank, the leftmost of equals, becomes one symbol, until no
// pair has a rank.
//
// n bytes take O(n log n) time and no recursion: the symbols are a linked list, the pairs a heap.
// Const methods are thread-safe, each caller with its own Scratch.
class Bpe {
  public:
    // A merge whose halves or product the vocabulary cannot spell can never apply and is left out. Throws
    // Error for a merge that is not two halves around a space.
    Bpe(const Vocabulary& vocabulary, std::span<const std::string_view> merges);

    // Memory that calls reuse; what it holds between calls means nothing.
    class Scratch {
        friend class Bpe;
        struct Symbol {
            int32_t id;
            uint32_t previous;
            uint32_t next;
        };
        std::vector<Symbol> symbols;
        std::vector<uint64_t> candidates;  // heap of rank and position, best first
    };

    // Appends the ids of `piece` (fewer than 2^32 - 1 bytes). A byte that the vocabulary has no token for
    // joins no merge and yields no id, as in the field's other engines: the vocabulary has no way to say it.
    void append(std::string_view piece, Scratch& scratch, std::vector<int32_t>& ids) const;

  private:
    void start(std::string_view piece, Scratch& scratch) const;
    void consider(uint32_t left, Scratch& scratch) const;
    void apply(uint64_t candidate, Scratch& scratch) const;

    std::array<int32_t, 256> byte_ids_;
    MergeTable merges_;
};

}  // namespace plait::text
