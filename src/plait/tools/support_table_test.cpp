#include "plait/tools/support_table.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "plait/backends/cpu/cpu_device.h"
#include "plait/backends/cpu/simd/select.h"

namespace plait::tools {
namespace {

using backends::cpu::CpuDevice;
using backends::cpu::simd::SimdLevel;

std::string table_of(SimdLevel level) {
    Cores cores;
    return support_table(CpuDevice(cores, {.workers = 1, .simd = level}).describe());
}

TEST(SupportTable, HasTheBestKernelFirst) {
    const std::string table = table_of(SimdLevel::scalar);
    const size_t packed = table.find("| matmul | Q8_0"), rows = table.find("| matmul | F32");
    ASSERT_NE(packed, std::string::npos) << table;
    ASSERT_NE(rows, std::string::npos) << table;
    EXPECT_LT(packed, rows);
    EXPECT_NE(table.find("| attention | F32 | rows/1"), std::string::npos) << table;
}

// Every instruction set has a kernel for every format.
TEST(SupportTable, IsTheSameOnEveryLevel) {
    for (const SimdLevel level : backends::cpu::simd::kAllLevels) {
        if (!backends::cpu::simd::has_level(level)) continue;
        EXPECT_EQ(table_of(level), table_of(SimdLevel::scalar)) << backends::cpu::simd::name(level);
    }
}

TEST(SupportTable, IsWhatTheDocumentsSay) {
    std::ifstream file(PLAIT_SOURCE_DIR "/docs/support.md");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_NE(text.find(table_of(SimdLevel::scalar)), std::string::npos)
        << "docs/support.md should have: plait devices --devices cpu --support";
}

}  // namespace
}  // namespace plait::tools
