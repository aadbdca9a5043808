#include "plait/base/cgroup.h"

#include <gmock/gmock.h>

#include "plait/base/fake_system_files.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kMountV2 =
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char* kMountsV1 =
    "31 23 0:28 / /sys/fs/cgroup ro - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:1 master:2 - cgroup cgroup rw,cpu,cpuacct\n"
    "33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

std::vector<std::string> folders_v2(const char* own, const char* mounts) {
    return cgroup_folders(CgroupVersion::v2, "cpu", own, mounts);
}

TEST(CgroupFolders, WalksFromTheOwnGroupToTheRoot) {
    EXPECT_THAT(
        folders_v2("0::/user.slice/app.service\n", kMountV2),
        ElementsAre("/sys/fs/cgroup/user.slice/app.service", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"));
    EXPECT_THAT(folders_v2("0::/\n", kMountV2), ElementsAre("/sys/fs/cgroup"));
}

TEST(CgroupFolders, FindsTheControllerOfVersionOne) {
    const char* own = "4:memory:/box\n2:cpu,cpuacct:/a/b\n1:name=systemd:/\n0::/\n";
    EXPECT_THAT(cgroup_folders(CgroupVersion::v1, "cpu", own, kMountsV1),
                ElementsAre("/sys/fs/cgroup/cpu,cpuacct/a/b", "/sys/fs/cgroup/cpu,cpuacct/a",
                            "/sys/fs/cgroup/cpu,cpuacct"));
    EXPECT_THAT(cgroup_folders(CgroupVersion::v1, "memory", own, kMountsV1),
                ElementsAre("/sys/fs/cgroup/memory/box", "/sys/fs/cgroup/memory"));
    EXPECT_THAT(cgroup_folders(CgroupVersion::v1, "cpuset", own, kMountsV1), IsEmpty());
    EXPECT_THAT(folders_v2(own, kMountsV1), IsEmpty());
}

TEST(CgroupFolders, StripsWhatAContainerSeesAsTheRoot) {
    const char* mount = "32 31 0:29 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
    EXPECT_THAT(folders_v2("0::/docker/abc\n", mount), ElementsAre("/sys/fs/cgroup"));
    EXPECT_THAT(folders_v2("0::/docker/abc/in\n", mount), ElementsAre("/sys/fs/cgroup/in", "/sys/fs/cgroup"));
    EXPECT_THAT(folders_v2("0::/docker/abcd\n", mount), ElementsAre("/sys/fs/cgroup"));  // another group
    EXPECT_THAT(folders_v2("0::/../other\n", kMountV2), ElementsAre("/sys/fs/cgroup"));
}

TEST(CgroupFolders, DecodesEscapedMountPoints) {
    EXPECT_THAT(folders_v2("0::/\n", "30 23 0:26 / /my\\040groups\\134x rw - cgroup2 none rw\n"),
                ElementsAre("/my groups\\x"));
    EXPECT_THAT(folders_v2("0::/\n", "30 23 0:26 / /end\\04 rw - cgroup2 none rw\n"),
                ElementsAre("/end\\04"));
}

TEST(CgroupFolders, SurvivesHostileText) {
    for (const char* own : {"", "\n", "0", "0:", "::", "x::/a", ":::"})
        EXPECT_THAT(folders_v2(own, kMountV2), IsEmpty()) << own;
    for (const char* mounts :
         {"", "\n", "-", "- cgroup2", "a b c d e -", "a b c d e - cgroup2", "- - - - - - -"})
        EXPECT_THAT(folders_v2("0::/a", mounts), IsEmpty()) << mounts;
    EXPECT_THAT(folders_v2("0::a//b", kMountV2), testing::SizeIs(testing::Le(4u)));
}

TEST(CgroupQuota, ParsesCpuMax) {
    EXPECT_EQ(parse_cpu_max("max 100000\n"), kNoCpuQuota);
    EXPECT_EQ(parse_cpu_max("250000 100000\n"), 2.5);
    EXPECT_EQ(parse_cpu_max("50000 100000"), 0.5);
    for (const char* odd :
         {"", "max", "100000", "0 100000", "1 0", "-1 100000", "1 2 3", "99999999999999999999 1"})
        EXPECT_EQ(parse_cpu_max(odd), kNoCpuQuota) << odd;
}

TEST(CgroupQuota, ParsesVersionOne) {
    EXPECT_EQ(parse_cfs_quota("-1\n", "100000\n"), kNoCpuQuota);
    EXPECT_EQ(parse_cfs_quota("150000\n", "100000\n"), 1.5);
    EXPECT_EQ(parse_cfs_quota("", "100000"), kNoCpuQuota);
}

TEST(CgroupQuota, TheTightestGroupOnThePathCounts) {
    FakeSystemFiles files{{{"/proc/self/cgroup", "0::/a/b\n"},
                           {"/proc/self/mountinfo", kMountV2},
                           {"/sys/fs/cgroup/a/b/cpu.max", "400000 100000\n"},
                           {"/sys/fs/cgroup/a/cpu.max", "300000 100000\n"}}};
    EXPECT_EQ(cgroup_cpu_quota(files.reader()), 3.0);
    files.text["/sys/fs/cgroup/cpu.max"] = "150000 100000\n";
    EXPECT_EQ(cgroup_cpu_quota(files.reader()), 1.5);
}

TEST(CgroupQuota, ReadsVersionOneBesideVersionTwo) {
    const std::string mounts = std::string(kMountsV1) + kMountV2;
    FakeSystemFiles files{{{"/proc/self/cgroup", "2:cpu,cpuacct:/a\n0::/\n"},
                           {"/proc/self/mountinfo", mounts},
                           {"/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "200000\n"},
                           {"/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n"}}};
    EXPECT_EQ(cgroup_cpu_quota(files.reader()), 2.0);
}

TEST(CgroupQuota, NoFilesMeansNoQuota) {
    EXPECT_EQ(cgroup_cpu_quota(FakeSystemFiles{}.reader()), kNoCpuQuota);
}

TEST(CgroupMemoryTest, CountsIdlePageCacheAsFree) {
    FakeSystemFiles files{{{"/proc/self/cgroup", "0::/a\n"},
                           {"/proc/self/mountinfo", kMountV2},
                           {"/sys/fs/cgroup/a/memory.max", "1000\n"},
                           {"/sys/fs/cgroup/a/memory.current", "900\n"},
                           {"/sys/fs/cgroup/a/memory.stat", "anon 600\nfile 300\ninactive_file 200\n"}}};
    CgroupMemory memory = cgroup_memory(files.reader());
    EXPECT_EQ(memory.limit, 1000u);
    EXPECT_EQ(memory.available, 300u);

    files.text["/sys/fs/cgroup/memory.max"] = "950";  // a parent without memory.stat
    files.text["/sys/fs/cgroup/memory.current"] = "940";
    memory = cgroup_memory(files.reader());
    EXPECT_EQ(memory.limit, 950u);
    EXPECT_EQ(memory.available, 10u);
}

TEST(CgroupMemoryTest, NeverGoesBelowZero) {
    FakeSystemFiles files{{{"/proc/self/cgroup", "4:memory:/\n"},
                           {"/proc/self/mountinfo", kMountsV1},
                           {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "1000\n"},
                           {"/sys/fs/cgroup/memory/memory.usage_in_bytes", "2000\n"},
                           {"/sys/fs/cgroup/memory/memory.stat", "total_inactive_file 1\n"}}};
    EXPECT_EQ(cgroup_memory(files.reader()).available, 0u);
    files.text["/sys/fs/cgroup/memory/memory.stat"] = "total_inactive_file 99999\n";
    EXPECT_EQ(cgroup_memory(files.reader()).available, 1000u);
}

TEST(CgroupMemoryTest, KnowsBothWaysToSayUnlimited) {
    EXPECT_EQ(parse_memory_limit("max\n"), kNoMemoryLimit);
    EXPECT_EQ(parse_memory_limit("9223372036854771712\n"), kNoMemoryLimit);
    EXPECT_EQ(parse_memory_limit(""), kNoMemoryLimit);
    EXPECT_EQ(parse_memory_limit("0\n"), 0u);
}

TEST(SystemFiles, AnAbsentFileIsNothing) {
    EXPECT_EQ(read_system_file("/proc/self/there is no such file"), std::nullopt);
    EXPECT_TRUE(read_system_file("/proc/self/cgroup").has_value());
}

}  // namespace
}  // namespace plait
