#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace plait::text {

struct Merge {
    int32_t left;
    int32_t right;
    int32_t product;
};

// The merges of a byte-pair encoding: by rank, and by pair through an open-addressing table (a vocabulary has
// some hundred thousand, and every adjacent pair of every text asks). Const methods are thread-safe.
class MergeTable {
  public:
    static constexpr int32_t kNone = -1;

    explicit MergeTable(size_t expected);

    // Gives the merge the next rank, unless its pair has one already. At most `expected` merges.
    void add(Merge merge);
    // The pair's rank, or kNone.
    int32_t rank(int32_t left, int32_t right) const;
    const Merge& operator[](int32_t rank) const { return merges_[rank]; }

  private:
    struct Slot {
        uint64_t pair = 0;
        int32_t rank = kNone;
    };
    // The pair's slot, or the free one where it would go.
    size_t slot_of(uint64_t pair) const;

    std::vector<Merge> merges_;
    std::vector<Slot> slots_;  // a power of two, at most half of them taken
};

}  // namespace plait::text
