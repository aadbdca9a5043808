#include "plait/base/cores.h"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
#include <thread>
#include <utility>

#include "plait/base/cpu_mask.h"
#include "plait/base/error.h"
#include "plait/base/recording_binder.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

CoreMap map_of(std::vector<int> cpus) { return {.cpus = std::move(cpus)}; }

int usable(std::vector<int> cpus, double quota) {
    return Cores({.cpus = std::move(cpus), .quota = quota}).usable();
}

TEST(CoresTest, UsableIsTheTighterOfAffinityAndQuota) {
    EXPECT_EQ(Cores(map_of({0})).usable(), 1);
    EXPECT_EQ(Cores(map_of({0, 2, 5})).usable(), 3);
    EXPECT_EQ(usable({0, 1, 2, 3}, 2.0), 2);
    EXPECT_EQ(usable({0, 1, 2, 3}, 2.1), 3);
    EXPECT_EQ(usable({0, 1, 2, 3}, 0.25), 1);
    EXPECT_EQ(usable({0, 1}, 64.0), 2);
    EXPECT_EQ(usable({0, 1}, 1e300), 2);
}

TEST(CoresTest, ParsesLists) {
    const Cores cores(map_of({0, 1, 2, 3, 8, 9}));
    EXPECT_THAT(cores.parse_list("0-3,8"), ElementsAre(0, 1, 2, 3, 8));
    EXPECT_THAT(cores.parse_list("9"), ElementsAre(9));
    EXPECT_THAT(cores.parse_list("8-8,1"), ElementsAre(8, 1));
}

TEST(CoresTest, RefusesListsWithASentence) {
    const Cores cores(map_of({0, 1, 2, 3, 8}));
    const auto parse = [&](const char* list) { return [&cores, list] { cores.parse_list(list); }; };
    EXPECT_THAT(parse("2-4"),
                ThrowsMessage<Error>("cores: core 4 of '2-4' is not among the cores this process may "
                                     "use (0-3,8)"));
    EXPECT_THAT(parse("0-2147483647"), ThrowsMessage<Error>(HasSubstr("core 4 of")));
    EXPECT_THAT(parse("0-2,1"), ThrowsMessage<Error>("cores: core 1 is named twice in '0-2,1'"));
    for (const char* bad : {"", ",", "1,", "x", "-1", "1-", "3-1", "1-2-3", "0x1", " 1", "99999999999"})
        EXPECT_THAT(parse(bad), ThrowsMessage<Error>(HasSubstr("expected a core like '4'"))) << bad;
}

TEST(CoresTest, SpinningEndsWithTheFirstWorkerTooMany) {
    Cores cores(map_of({0, 1}));
    EXPECT_TRUE(cores.spin_allowed());
    auto two = cores.lease(2);
    EXPECT_TRUE(cores.spin_allowed());
    {
        auto third = cores.lease(1);
        EXPECT_EQ(cores.live_workers(), 3);
        EXPECT_FALSE(cores.spin_allowed());
    }
    EXPECT_TRUE(cores.spin_allowed());
    {
        auto moved = std::move(two);
        EXPECT_EQ(cores.live_workers(), 2);
    }
    EXPECT_EQ(cores.live_workers(), 0);
}

TEST(CoresTest, SpinningEndsWhenTwoWorkersShareACore) {
    Cores cores(map_of({0, 1, 2, 3}));
    const std::vector<int> pins{0, 1};
    const auto first = cores.lease(2, pins);
    EXPECT_TRUE(cores.spin_allowed());
    {
        const auto second = cores.lease(1, std::vector<int>{1});
        EXPECT_FALSE(cores.spin_allowed());
    }
    EXPECT_TRUE(cores.spin_allowed());
    Cores others(map_of({0, 1, 2, 3}));
    const auto doubled = others.lease(3, pins);
    EXPECT_FALSE(others.spin_allowed());
}

TEST(CoresTest, QuotaCountsForSpinningToo) {
    Cores cores({.cpus = {0, 1, 2, 3}, .quota = 1.5});
    const auto workers = cores.lease(3);
    EXPECT_FALSE(cores.spin_allowed());
}

TEST(CoresTest, BindsMemoryAndWarnsOnceWhereItCannot) {
    auto recorded = std::make_unique<RecordingBinder>();
    RecordingBinder& binder = *recorded;
    Cores cores(map_of({0}), std::move(recorded));
    int memory = 0;
    cores.bind_memory(&memory, sizeof memory, 3);
    ASSERT_EQ(binder.memory().size(), 1u);
    EXPECT_EQ(binder.memory()[0].begin, &memory);
    EXPECT_EQ(binder.memory()[0].bytes, sizeof memory);
    EXPECT_EQ(binder.memory()[0].node, 3);

    Cores contained(map_of({0}), std::make_unique<RecordingBinder>(true));
    testing::internal::CaptureStderr();
    contained.bind_memory(&memory, sizeof memory, 1);
    contained.bind_memory(&memory, sizeof memory, 2);
    EXPECT_EQ(
        testing::internal::GetCapturedStderr(),
        "warning: the system refuses to bind memory to NUMA node 1; it lies where it is first touched\n");
}

// On whatever machine this is, the first node's memory is there, unless a container forbids the asking.
TEST(SystemBinder, BindsFreshPages) {
    const CoreMap map = detect_cores();
    if (map.nodes.empty()) GTEST_SKIP() << "the system tells of no NUMA node";
    constexpr size_t kBytes = size_t{1} << 21;
    void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    const auto binder = system_binder();
    int policy = -1;
    const bool asks = syscall(SYS_get_mempolicy, &policy, nullptr, 0, memory, 2 /* of an address */) == 0;
    EXPECT_EQ(binder->bind_memory(memory, kBytes, map.nodes.front().id), asks);
    if (asks) {
        ASSERT_EQ(syscall(SYS_get_mempolicy, &policy, nullptr, 0, memory, 2), 0);
        EXPECT_NE(policy, 0) << "0 is the default: wherever the thread runs";
    }
    munmap(memory, kBytes);
}

TEST(CpuMaskTest, RefusesACoreThatIsNotThere) {
    std::thread([] { EXPECT_FALSE(CpuMask::only(CpuMask::kMaxCpus - 1).apply_to_this_thread()); }).join();
}

}  // namespace
}  // namespace plait
