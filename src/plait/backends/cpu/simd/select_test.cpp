#include "plait/backends/cpu/simd/select.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "plait/backends/cpu/simd/levels.h"
#include "plait/base/error.h"

namespace plait::backends::cpu::simd {
namespace {

using testing::HasSubstr;

std::string error_of(auto call) {
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

TEST(Select, NamesParseBack) {
    for (const LevelRow& row : built_levels()) EXPECT_EQ(parse_level(name(row.level)), row.level);
    EXPECT_EQ(parse_level("best"), best_level());
}

TEST(Select, UnknownNamesSayWhatThereIs) {
    for (const char* unknown : {"", "AVX2", "avx2 ", "sse", "auto"}) {
        const std::string error = error_of([&] { parse_level(unknown); });
        EXPECT_THAT(error, HasSubstr("scalar"));
        EXPECT_THAT(error, HasSubstr("not for '" + std::string(unknown) + "'"));
    }
}

bool is_built(SimdLevel level) {
    return std::ranges::find(built_levels(), level, &LevelRow::level) != built_levels().end();
}

TEST(Select, LevelsOfOtherArchitecturesAreNotBuilt) {
    std::string all;
    for (const LevelRow& row : built_levels())
        all += (all.empty() ? "" : ", ") + std::string(name(row.level));
    for (const SimdLevel other : kAllLevels) {
        if (is_built(other)) continue;
        EXPECT_EQ(error_of([&] { parse_level(name(other)); }), std::string("--simd ") + name(other) +
                                                                   ": this build is for " + built_for() +
                                                                   " and has kernels for " + all);
    }
    EXPECT_TRUE(is_built(SimdLevel::scalar));
    EXPECT_FALSE(is_built(SimdLevel::sse4) && is_built(SimdLevel::neon));
}

TEST(Select, EveryBuiltLevelIsListed) {
    for (const LevelRow& row : built_levels()) EXPECT_THAT(kAllLevels, testing::Contains(row.level));
    EXPECT_TRUE(std::ranges::is_sorted(built_levels(), {}, &LevelRow::level));
}

TEST(Select, TheBestLevelRunsHere) {
    EXPECT_TRUE(has_level(SimdLevel::scalar));
    EXPECT_TRUE(has_level(best_level()));
    EXPECT_NE(kernels(best_level()).quantise, nullptr);
}

TEST(Select, AMissingLevelSaysWhatTheMachineHas) {
    for (const LevelRow& row : built_levels()) {
        if (has_level(row.level)) continue;
        const std::string error = error_of([&] { kernels(row.level); });
        EXPECT_THAT(error, HasSubstr(std::string("--simd ") + name(row.level)));
        EXPECT_THAT(error, HasSubstr("scalar"));
    }
    const std::string error = error_of([] { kernels(static_cast<SimdLevel>(SimdLevel::scalar)); });
    EXPECT_EQ(error, "no error");
}

bool runs(SimdLevel level, const CpuFeatures& cpu) {
    for (const LevelRow& row : built_levels())
        if (row.level == level) return row.runs_on(cpu);
    return false;
}

// Each level needs all of its flags.
TEST(Select, LevelsOfX86NeedTheirFlags) {
    const CpuFeatures none;
    CpuFeatures sse4 = none;
    sse4.sse4 = true;
    CpuFeatures avx2 = sse4;
    avx2.avx2 = avx2.fma = avx2.f16c = true;
    CpuFeatures server = avx2;
    server.avx512f = server.avx512bw = server.avx512vl = server.avx512vnni = true;
    CpuFeatures without_vl = server;
    without_vl.avx512vl = false;
    CpuFeatures without_f16c = server;
    without_f16c.f16c = false;
    CpuFeatures client = avx2;
    client.avxvnni = true;
    EXPECT_TRUE(runs(SimdLevel::scalar, none));
    if (!is_built(SimdLevel::sse4)) GTEST_SKIP() << "a build for another architecture";
    EXPECT_FALSE(runs(SimdLevel::sse4, none));
    EXPECT_TRUE(runs(SimdLevel::sse4, sse4));
    EXPECT_FALSE(runs(SimdLevel::avx2, sse4));
    EXPECT_TRUE(runs(SimdLevel::avx2, avx2));
    EXPECT_FALSE(runs(SimdLevel::avxvnni, avx2));
    EXPECT_TRUE(runs(SimdLevel::avxvnni, client));
    EXPECT_FALSE(runs(SimdLevel::avx512vnni, client));
    EXPECT_TRUE(runs(SimdLevel::avx512vnni, server));
    EXPECT_FALSE(runs(SimdLevel::avx512vnni, without_vl));
    EXPECT_FALSE(runs(SimdLevel::avx512vnni, without_f16c));
    CpuFeatures with_tiles = server;
    with_tiles.amx_int8 = true;
    CpuFeatures tiles_alone = without_vl;
    tiles_alone.amx_int8 = true;
    EXPECT_FALSE(runs(SimdLevel::amx, server));
    EXPECT_TRUE(runs(SimdLevel::amx, with_tiles));
    EXPECT_FALSE(runs(SimdLevel::amx, tiles_alone));
}

TEST(Select, LevelsOfArmNeedTheirFlags) {
    if (!is_built(SimdLevel::neon)) GTEST_SKIP() << "a build for another architecture";
    const CpuFeatures none;
    CpuFeatures plain = none;
    plain.neon = true;
    CpuFeatures dotprod = plain;
    dotprod.dotprod = true;
    CpuFeatures i8mm = dotprod;
    i8mm.i8mm = true;
    CpuFeatures sve = i8mm;
    sve.sve = true;
    sve.sve_bits = 256;
    CpuFeatures wide = sve;
    wide.sve_bits = 512;
    CpuFeatures early = dotprod;  // SVE without byte matrix products
    early.sve = true;
    early.sve_bits = 256;
    EXPECT_FALSE(runs(SimdLevel::neon, none));
    EXPECT_TRUE(runs(SimdLevel::neon, plain));
    EXPECT_FALSE(runs(SimdLevel::dotprod, plain));
    EXPECT_TRUE(runs(SimdLevel::dotprod, dotprod));
    EXPECT_FALSE(runs(SimdLevel::i8mm, dotprod));
    EXPECT_TRUE(runs(SimdLevel::i8mm, i8mm));
    EXPECT_FALSE(runs(SimdLevel::sve256, i8mm));
    EXPECT_TRUE(runs(SimdLevel::sve256, sve));
    EXPECT_FALSE(runs(SimdLevel::sve128, sve));
    EXPECT_FALSE(runs(SimdLevel::sve256, wide));
    EXPECT_FALSE(runs(SimdLevel::sve256, early));
}

TEST(Select, LevelsOfRiscvNeedTheirLength) {
    if (!is_built(SimdLevel::rvv128)) GTEST_SKIP() << "a build for another architecture";
    const CpuFeatures none, narrow{.rvv_bits = 128}, wide{.rvv_bits = 256};
    EXPECT_FALSE(runs(SimdLevel::rvv128, none));
    EXPECT_TRUE(runs(SimdLevel::rvv128, narrow));
    EXPECT_FALSE(runs(SimdLevel::rvv128, wide));
    EXPECT_FALSE(runs(SimdLevel::rvv256, narrow));
    EXPECT_TRUE(runs(SimdLevel::rvv256, wide));
}

}  // namespace
}  // namespace plait::backends::cpu::simd
