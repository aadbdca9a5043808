#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace plait::state {

inline constexpr int32_t kNoPage = -1;

// Numbers of the pages of one state group: which are free, and how often each other one is referenced. Free
// pages form a stack, so the page that came free last is taken first (its bytes are the likeliest to be in a
// cache), and page 0 is the first of all; the same calls always give the same pages. Allocates at
// construction only. One thread at a time.
class PagePool {
  public:
    // `order_seed` shuffles the order in which fresh pages are taken: for tests of "placement does not
    // matter".
    explicit PagePool(int32_t pages, std::optional<uint64_t> order_seed = std::nullopt);

    int32_t pages() const { return static_cast<int32_t>(references_.size()); }
    int32_t free_pages() const { return free_count_; }
    int32_t references(int32_t page) const { return references_[page]; }

    // A page with one reference, or kNoPage when none is free.
    int32_t take();
    // One reference more or less, to a page that has at least one; without any it is free.
    void share(int32_t page);
    void drop(int32_t page);

    // Undoes every take() since free_pages() was `free_before`, the stack's order included. Meanwhile no page
    // may have come free, and the pages taken must have the one reference they were given.
    void undo_takes(int32_t free_before);

  private:
    std::vector<int32_t> references_;  // per page
    std::vector<int32_t> free_;        // the first free_count_ are free, the last of them on top
    int32_t free_count_;
};

}  // namespace plait::state
