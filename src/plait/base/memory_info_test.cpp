#include "plait/base/memory_info.h"

#include <gmock/gmock.h>
#include <sys/mman.h>

#include <cstring>
#include <vector>

#include "plait/base/error.h"
#include "plait/base/fake_system_files.h"

namespace plait {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(MemoryInfoTest, TakesTheTighterOfKernelAndCgroup) {
    FakeSystemFiles files{{{"/proc/meminfo", "MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:  600 kB\n"}}};
    EXPECT_EQ(memory_info(files.reader()).total, 1000u * 1024);
    EXPECT_EQ(memory_info(files.reader()).available, 600u * 1024);

    files.text["/proc/self/cgroup"] = "0::/\n";
    files.text["/proc/self/mountinfo"] = "30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n";
    files.text["/cg/memory.max"] = "500000\n";
    files.text["/cg/memory.current"] = "400000\n";
    EXPECT_EQ(memory_info(files.reader()).total, 500000u);
    EXPECT_EQ(memory_info(files.reader()).available, 100000u);
}

TEST(MemoryInfoTest, SaysWhatIsMissing) {
    FakeSystemFiles files;
    EXPECT_THAT([&] { memory_info(files.reader()); },
                ThrowsMessage<Error>(HasSubstr("/proc/meminfo cannot be read")));
    files.text["/proc/meminfo"] = "MemTotal: 5 kB\n";
    EXPECT_THAT(
        [&] { memory_info(files.reader()); },
        ThrowsMessage<Error>(HasSubstr("expected a line 'MemAvailable: NUMBER kB' in /proc/meminfo")));
    EXPECT_THAT([&] { peak_resident_bytes(files.reader()); },
                ThrowsMessage<Error>(HasSubstr("/proc/self/status")));
}

TEST(MemoryInfoTest, ThisMachineMakesSense) {
    const MemoryInfo info = memory_info();
    EXPECT_GT(info.available, 0u);
    EXPECT_LE(info.available, info.total);
}

TEST(MemoryInfoTest, PeakGrowsWithTouchedMemory) {
    const uint64_t before = peak_resident_bytes();
    constexpr size_t kBytes = 64 << 20;
    std::vector<char> touched(kBytes, 1);
    EXPECT_EQ(touched[kBytes / 2], 1);
    EXPECT_GE(peak_resident_bytes(), before);
    EXPECT_GE(peak_resident_bytes(), kBytes);
}

// Pages straight from the system, since an allocator may keep what it was given back.
TEST(MemoryInfoTest, PeakIsForgottenWhenAskedFor) {
    constexpr size_t kBytes = 64 << 20;
    void* pages = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(pages, MAP_FAILED);
    std::memset(pages, 1, kBytes);
    const uint64_t before = peak_resident_bytes();
    munmap(pages, kBytes);
    if (!reset_peak_resident()) GTEST_SKIP() << "the system does not allow it";
    EXPECT_LE(peak_resident_bytes() + kBytes / 2, before);
}

}  // namespace
}  // namespace plait
