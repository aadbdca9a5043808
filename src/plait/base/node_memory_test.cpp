#include "plait/base/node_memory.h"

#include <gmock/gmock.h>

#include "plait/base/fake_system_files.h"
#include "plait/base/memory_info.h"

namespace plait {
namespace {

using testing::Optional;

constexpr uint64_t kKiB = 1024;

FakeSystemFiles two_nodes() {
    return {{{"/proc/meminfo", "MemTotal:  9000 kB\nMemAvailable:  4000 kB\n"},
             {"/sys/devices/system/node/has_memory", "0,2\n"},
             {"/sys/devices/system/node/node0/meminfo",
              "Node 0 MemTotal:       5000 kB\nNode 0 MemFree:        2000 kB\n"
              "Node 0 Active(file):    500 kB\nNode 0 Inactive(file):  400 kB\n"
              "Node 0 SReclaimable:    100 kB\n"},
             {"/sys/devices/system/node/node2/meminfo",
              "Node 2 MemTotal:       4000 kB\nNode 2 MemFree:        1000 kB\n"}}};
}

TEST(NodeMemory, NodesHaveTogetherWhatTheProcessMayTake) {
    FakeSystemFiles files = two_nodes();
    EXPECT_THAT(node_memory_available(0, files.reader()), Optional(3000 * kKiB));
    EXPECT_THAT(node_memory_available(2, files.reader()), Optional(1000 * kKiB));

    files.text["/proc/self/cgroup"] = "0::/\n";
    files.text["/proc/self/mountinfo"] = "30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n";
    files.text["/cg/memory.max"] = "400000\n";
    files.text["/cg/memory.current"] = "0\n";
    EXPECT_THAT(node_memory_available(0, files.reader()), Optional(300000u));
    EXPECT_THAT(node_memory_available(2, files.reader()), Optional(100000u));
}

TEST(NodeMemory, SaysNothingOfNodesThatAreNotThere) {
    FakeSystemFiles files = two_nodes();
    EXPECT_EQ(node_memory_available(1, files.reader()), std::nullopt);
    files.text["/sys/devices/system/node/node1/meminfo"] = "nonsense\n";
    EXPECT_EQ(node_memory_available(1, files.reader()), std::nullopt);
    files.text["/sys/devices/system/node/has_memory"] = "0-x\n";
    EXPECT_EQ(node_memory_available(0, files.reader()), std::nullopt) << "part of what?";
    files.text.erase("/sys/devices/system/node/has_memory");
    EXPECT_EQ(node_memory_available(0, files.reader()), std::nullopt);
}

TEST(NodeMemory, FullNodesHaveNothing) {
    FakeSystemFiles files = two_nodes();
    for (const char* node : {"0", "2"}) {
        files.text[std::string("/sys/devices/system/node/node") + node + "/meminfo"] =
            std::string("Node ") + node + " MemFree: 0 kB\n";
    }
    EXPECT_THAT(node_memory_available(0, files.reader()), Optional(0u));
}

TEST(NodeMemory, ThisMachineMakesSense) {
    const auto here = node_memory_available(0);
    if (!here) GTEST_SKIP() << "the system does not tell of NUMA node 0";
    EXPECT_GT(*here, 0u);
    EXPECT_LE(*here, memory_info().total);
}

}  // namespace
}  // namespace plait
