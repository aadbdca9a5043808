#include "plait/state/page_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace plait::state {
namespace {

std::vector<int32_t> take(PagePool& pool, int count) {
    std::vector<int32_t> pages(count);
    for (int32_t& page : pages) page = pool.take();
    return pages;
}

TEST(PagePool, FreshPagesComeInOrderUntilNoneIsLeft) {
    PagePool pool(3);
    EXPECT_EQ(pool.pages(), 3);
    EXPECT_EQ(take(pool, 4), (std::vector<int32_t>{0, 1, 2, kNoPage}));
    EXPECT_EQ(pool.free_pages(), 0);
}

TEST(PagePool, ThePageThatCameFreeLastIsTakenFirst) {
    PagePool pool(4);
    take(pool, 3);
    pool.drop(0);
    pool.drop(2);
    EXPECT_EQ(take(pool, 3), (std::vector<int32_t>{2, 0, 3}));
}

TEST(PagePool, APageIsFreeWhenItsLastReferenceGoes) {
    PagePool pool(1);
    pool.take();
    pool.share(0);
    EXPECT_EQ(pool.references(0), 2);
    pool.drop(0);
    EXPECT_EQ(pool.take(), kNoPage);
    pool.drop(0);
    EXPECT_EQ(pool.free_pages(), 1);
    EXPECT_EQ(pool.take(), 0);
}

TEST(PagePool, UndoOfTakesRestoresTheOrder) {
    PagePool pool(6);
    take(pool, 4);
    for (int32_t page : {1, 3, 0}) pool.drop(page);
    PagePool untouched = pool;
    const int32_t before = pool.free_pages();
    take(pool, 4);
    pool.undo_takes(before);
    EXPECT_EQ(pool.free_pages(), before);
    EXPECT_EQ(pool.references(1), 0);
    EXPECT_EQ(take(pool, 6), take(untouched, 6));
}

TEST(PagePool, AnOrderSeedShufflesAndNothingElse) {
    PagePool plain(50), shuffled(50, 1), again(50, 1), other(50, 2);
    auto pages = take(shuffled, 50);
    EXPECT_NE(pages, take(plain, 50));
    EXPECT_EQ(pages, take(again, 50));
    EXPECT_NE(pages, take(other, 50));
    std::sort(pages.begin(), pages.end());
    std::vector<int32_t> all(50);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(pages, all);
}

TEST(PagePoolDeathTest, BrokenInvariants) {
    PagePool pool(3);
    EXPECT_DEATH(pool.drop(0), "drop of a free page");
    EXPECT_DEATH(pool.share(0), "share of a free page");
    pool.share(pool.take());
    EXPECT_DEATH(pool.undo_takes(3), "shared");
    EXPECT_DEATH(pool.undo_takes(4), "undo of takes");
}

}  // namespace
}  // namespace plait::state
