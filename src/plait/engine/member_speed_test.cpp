#include "plait/engine/member_speed.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "plait/base/error.h"
#include "plait/dtype/dtype.h"
#include "plait/engine/devices.h"
#include "plait/engine/shares.h"

namespace plait::engine {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<MemberSpeed> speeds(const std::string& devices, dtype::DType format = dtype::DType::Q8_0,
                                const std::string& simd = "best") {
    Cores cores;
    EngineOptions options;
    options.devices = devices;
    options.threads = 2;
    options.simd = simd;
    return measure_members(make_members(options, cores), format);
}

TEST(MemberSpeed, MeasuresEveryDeviceThroughTheContract) {
    for (const MemberSpeed& speed : speeds("cpu,sim")) {
        EXPECT_GT(speed.one_token, 1e6);
        EXPECT_GT(speed.many_tokens, 1e6);
        EXPECT_GE(speed.both(), std::min(speed.one_token, speed.many_tokens));
        EXPECT_LE(speed.both(), std::max(speed.one_token, speed.many_tokens));
    }
}

// Kernels of one element at a time are many times slower than the best ones, in any noise.
TEST(MemberSpeed, TellsFastFromSlow) {
    const MemberSpeed fast = speeds("cpu")[0], slow = speeds("cpu", dtype::DType::Q8_0, "scalar")[0];
    if (fast.both() == slow.both()) GTEST_SKIP() << "scalar kernels are the best here";
    EXPECT_GT(fast.many_tokens, 2 * slow.many_tokens);
    const MemberSpeed simulated = speeds("sim")[0];
    EXPECT_GT(fast.many_tokens, 2 * simulated.many_tokens);
}

TEST(MemberSpeed, DevicesThatAreAlikeAreEquallyFast) {
    const auto four = speeds("cpu*2,sim*2");
    EXPECT_EQ(four[0].one_token, four[1].one_token);
    EXPECT_EQ(four[0].many_tokens, four[1].many_tokens);
    EXPECT_EQ(four[2].both(), four[3].both());
    const auto shares = shares_by_speed(std::vector{four[0].both(), four[1].both()});
    EXPECT_EQ(shares, (std::vector<double>{100, 100}));
}

TEST(MemberSpeed, IsMeasuredOncePerProcess) {
    const auto first = speeds("cpu*2,sim"), again = speeds("cpu*2,sim");
    for (size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i].both(), again[i].both());
}

TEST(MemberSpeed, AnyFormatWillDo) {
    for (const dtype::DTypeInfo& format : dtype::table()) {
        if (((device::weight_formats() >> static_cast<unsigned>(format.type)) & 1) == 0) continue;
        EXPECT_GT(speeds("cpu", format.type)[0].both(), 0) << format.name;
    }
}

TEST(MemberSpeed, NamesTheDeviceThatFails) {
    EXPECT_THAT([] { speeds("sim:1K", dtype::DType::Q4_0); },
                ThrowsMessage<Error>(HasSubstr("sim:1K: its speed cannot be measured: ")));
}

}  // namespace
}  // namespace plait::engine
