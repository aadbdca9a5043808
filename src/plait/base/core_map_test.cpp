#include "plait/base/core_map.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <thread>
#include <vector>

#include "plait/base/cpu_mask.h"
#include "plait/base/error.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

MATCHER_P2(IsNode, id, cpus, "") { return arg.id == id && arg.cpus == std::vector<int>(cpus); }
auto node(int id, std::vector<int> cpus) { return IsNode(id, cpus); }

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

TEST(ImagineCores, NodesHaveTheirCores) {
    const CoreMap map = imagine_cores({.topology = "numa:2 core:2 pu:1"});
    EXPECT_THAT(map.cpus, ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(map.nodes, ElementsAre(node(0, {0, 1}), node(1, {2, 3})));
    EXPECT_EQ(map.quota, std::numeric_limits<double>::infinity());
    EXPECT_EQ(imagine_cores({.topology = "numa:1 core:1 pu:1", .quota = 1.5}).quota, 1.5);
}

TEST(ImagineCores, AffinityLeavesHolesAndUnevenNodes) {
    const CoreMap map = imagine_cores({.topology = "numa:3 core:4 pu:1", .usable = {1, 3, 8, 9, 10, 99}});
    EXPECT_THAT(map.cpus, ElementsAre(1, 3, 8, 9, 10));
    EXPECT_THAT(map.nodes, ElementsAre(node(0, {1, 3}), node(2, {8, 9, 10}))) << "node 1 has no usable core";
}

TEST(ImagineCores, NumbersNeedNotFollowTheMachine) {
    // Neighbours in the machine are counted alternately, as many systems do.
    const CoreMap map = imagine_cores({.topology = "numa:2 core:2 pu:1(indexes=0,2,1,3)"});
    EXPECT_THAT(map.nodes, ElementsAre(node(0, {0, 2}), node(1, {1, 3})));
}

TEST(ImagineCores, MemoryWithoutCoresIsNoNodeOfCores) {
    // One node of memory for both packages, such as one behind CXL, and one for each.
    const CoreMap far = imagine_cores({.topology = "[numa] pack:2 [numa] core:2 pu:1"});
    ASSERT_EQ(far.nodes.size(), 2u);
    EXPECT_THAT(far.nodes[0].cpus, ElementsAre(0, 1));
    EXPECT_THAT(far.nodes[1].cpus, ElementsAre(2, 3));
    // Two for each package, such as one of high-bandwidth memory.
    const CoreMap fast = imagine_cores({.topology = "pack:2 [numa] [numa] core:2 pu:1"});
    ASSERT_EQ(fast.nodes.size(), 2u);
    EXPECT_THAT(fast.nodes[0].cpus, ElementsAre(0, 1));
    EXPECT_THAT(fast.nodes[1].cpus, ElementsAre(2, 3));
}

TEST(ImagineCores, CoresWhoseMemoryIsForbiddenGoToAnotherNode) {
    const CoreMap map = imagine_cores({.topology = "numa:3 core:2 pu:1", .memory_nodes = {1, 2}});
    EXPECT_THAT(map.cpus, ElementsAre(0, 1, 2, 3, 4, 5));
    EXPECT_THAT(map.nodes, ElementsAre(node(1, {0, 1, 2, 3}), node(2, {4, 5})));
}

TEST(ImagineCores, OneOfEveryPhysicalCoreComesFirst) {
    EXPECT_THAT(imagine_cores({.topology = "numa:2 core:2 pu:2"}).filling,
                ElementsAre(0, 2, 4, 6, 1, 3, 5, 7));
    EXPECT_THAT(imagine_cores({.topology = "core:2 pu:2", .usable = {1, 2, 3}}).filling,
                ElementsAre(1, 2, 3));
    EXPECT_THAT(imagine_cores({.topology = "core:2 pu:4", .usable = {0, 1, 2, 5}}).filling,
                ElementsAre(0, 5, 1, 2));
    EXPECT_THAT(imagine_cores({.topology = "pu:2"}).filling, ElementsAre(0, 1));
}

TEST(ImagineCores, RefusesWhatIsNoMachine) {
    const auto imagine = [](ImaginedMachine machine) { return [machine] { imagine_cores(machine); }; };
    EXPECT_THAT(imagine({.topology = "nonsense:2"}),
                ThrowsMessage<Error>(HasSubstr("the machine 'nonsense:2'")));
    EXPECT_THAT(imagine({.topology = "pu:2", .usable = {7}}),
                ThrowsMessage<Error>(HasSubstr("none of the cores")));
}

}  // namespace
}  // namespace plait
