#include "plait/base/core_map.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "plait/base/cpu_mask.h"

namespace plait {
namespace {

using testing::ElementsAre;

TEST(DetectCores, ThisMachineMakesSense) {
    const CoreMap map = detect_cores();
    ASSERT_FALSE(map.cpus.empty());
    EXPECT_TRUE(std::is_sorted(map.cpus.begin(), map.cpus.end()));
    EXPECT_GT(map.quota, 0);
    std::vector<int> in_nodes;
    for (const NumaNode& node : map.nodes)
        in_nodes.insert(in_nodes.end(), node.cpus.begin(), node.cpus.end());
    std::sort(in_nodes.begin(), in_nodes.end());
    EXPECT_EQ(in_nodes, map.cpus);
    EXPECT_TRUE(map.caches.l2 == 0 || map.caches.l1d < map.caches.l2);
}

TEST(DetectCores, SeesTheAffinityOfItsThread) {
    const int last = detect_cores().cpus.back();
    std::optional<CoreMap> seen;
    std::thread([&] {
        ASSERT_TRUE(CpuMask::only(last).apply_to_this_thread());
        seen = detect_cores();
    }).join();
    EXPECT_THAT(seen->cpus, ElementsAre(last));
}

}  // namespace
}  // namespace plait
