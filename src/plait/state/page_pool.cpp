#include "plait/state/page_pool.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "plait/base/ensure.h"

namespace plait::state {

PagePool::PagePool(int32_t pages, std::optional<uint64_t> order_seed)
    : references_(pages), free_(pages), free_count_(pages) {
    std::iota(free_.rbegin(), free_.rend(), 0);
    if (order_seed) std::shuffle(free_.begin(), free_.end(), std::mt19937_64(*order_seed));
}

int32_t PagePool::take() {
    if (free_count_ == 0) return kNoPage;
    const int32_t page = free_[--free_count_];
    references_[page] = 1;
    return page;
}

void PagePool::share(int32_t page) {
    ENSURE(references_[page] > 0, "share of a free page");
    ++references_[page];
}

void PagePool::drop(int32_t page) {
    ENSURE(references_[page] > 0, "drop of a free page");
    if (--references_[page] == 0) free_[free_count_++] = page;
}

// take() leaves what it popped where it was, above the top of the stack.
void PagePool::undo_takes(int32_t free_before) {
    ENSURE(free_count_ <= free_before && free_before <= pages(), "undo of takes");
    for (; free_count_ < free_before; ++free_count_) {
        int32_t& references = references_[free_[free_count_]];
        ENSURE(references == 1, "undo of the take of a page that is shared");
        references = 0;
    }
}

}  // namespace plait::state
