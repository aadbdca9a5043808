#include "plait/base/allocation_count.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <thread>
#include <vector>

namespace plait {
namespace {

// Through the operator itself: the compiler may drop a new and delete whose object nobody looks at.
void allocate_once() { ::operator delete(::operator new(24)); }

bool allocation_fails() {
    try {
        allocate_once();
        return false;
    } catch (const std::bad_alloc&) {
        return true;
    }
}

TEST(AllocationCountTest, EveryFormOfNewCounts) {
    struct alignas(128) Wide {
        int x;
    };
    const long before = allocation_count();
    allocate_once();
    EXPECT_EQ(allocation_count(), before + 1);
    ::operator delete[](::operator new[](24));
    EXPECT_EQ(allocation_count(), before + 2);
    const auto wide = std::make_unique<Wide>();
    EXPECT_EQ(allocation_count(), before + 3);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(wide.get()) % 128, 0u);
    const auto many = std::make_unique<Wide[]>(3);
    EXPECT_EQ(allocation_count(), before + 4);
    ::operator delete(::operator new(24, std::nothrow));
    EXPECT_EQ(allocation_count(), before + 5);
    ::operator delete[](::operator new[](24, std::nothrow));
    EXPECT_EQ(allocation_count(), before + 6);
}

TEST(AllocationCountTest, CountsOtherThreadsButNotTheirBytes) {
    const long count = allocation_count();
    const size_t bytes = allocated_bytes_of_thread();
    size_t bytes_there = 0;
    std::thread([&] {
        const size_t before = allocated_bytes_of_thread();
        ::operator delete(::operator new(1 << 20));
        bytes_there = allocated_bytes_of_thread() - before;
    }).join();
    EXPECT_GT(allocation_count(), count);
    EXPECT_EQ(bytes_there, size_t{1} << 20);
    EXPECT_LT(allocated_bytes_of_thread() - bytes, size_t{1} << 20);
}

TEST(AllocationCountTest, NothingIsAnAllocationToo) {
    void* one = ::operator new(0);
    void* other = ::operator new(0);
    EXPECT_NE(one, other);
    ::operator delete(one);
    ::operator delete(other);
}

TEST(AllocationFailureTest, OnlyTheOneAfterTheSuccessesFails) {
    const AllocationFailure failure(2);
    EXPECT_FALSE(allocation_fails());
    EXPECT_FALSE(allocation_fails());
    EXPECT_FALSE(failure.happened());
    EXPECT_TRUE(allocation_fails());
    EXPECT_TRUE(failure.happened());
    EXPECT_FALSE(allocation_fails());
    EXPECT_TRUE(failure.happened());
}

TEST(AllocationFailureTest, EndsWithItsScope) {
    { const AllocationFailure failure(0); }
    EXPECT_FALSE(allocation_fails());
    { const AllocationFailure failure(0, AllocationScope::process); }
    EXPECT_FALSE(allocation_fails());
}

TEST(AllocationFailureTest, NothrowFormsAnswerNull) {
    const AllocationFailure failure(0);
    EXPECT_EQ(::operator new(24, std::nothrow), nullptr);
    EXPECT_TRUE(failure.happened());
}

// The failure is set up by this thread while the other one is waiting to allocate.
bool fails_in_another_thread(AllocationScope scope) {
    bool failed = false;
    std::atomic<int> stage = 0;
    std::thread other([&] {
        while (stage != 1) std::this_thread::yield();
        failed = allocation_fails();
        stage = 2;
    });
    {
        const AllocationFailure failure(0, scope);
        stage = 1;
        while (stage != 2) std::this_thread::yield();
    }
    other.join();
    return failed;
}

TEST(AllocationFailureTest, TheScopeSaysWhoseAllocations) {
    EXPECT_FALSE(fails_in_another_thread(AllocationScope::this_thread));
    EXPECT_TRUE(fails_in_another_thread(AllocationScope::process));
}

TEST(AllocationFailureTest, ReachesEveryAllocationOfAPieceOfCode) {
    const auto work = [] {
        std::vector<std::vector<int>> rows;
        for (int i = 0; i < 3; ++i) rows.emplace_back(100);
    };
    const long before = allocation_count();
    work();
    const long wanted = allocation_count() - before;
    long refusals = 0;
    for (bool refused = true; refused; refusals += refused) {
        const AllocationFailure failure(refusals);
        try {
            work();
        } catch (const std::bad_alloc&) {
        }
        refused = failure.happened();
    }
    EXPECT_EQ(refusals, wanted);
    EXPECT_GT(wanted, 3);
}

TEST(AllocationFailureDeathTest, TwoAtATimeAreABug) {
    const AllocationFailure failure(1000);
    EXPECT_DEATH(AllocationFailure(1000), "one AllocationFailure");
}

}  // namespace
}  // namespace plait
