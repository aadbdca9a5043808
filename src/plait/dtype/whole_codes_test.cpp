#include "plait/dtype/whole_codes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "plait/dtype/dtype.h"

namespace plait::dtype {
namespace {

struct Case {
    DType type;
    WholeCodesFn function;
    int offset;
};
constexpr Case kCases[] = {
    {DType::IQ3_S, whole_codes_iq3_s, kIq3SOffset},    {DType::IQ3_XXS, whole_codes_iq3_xxs, kIq3XxsOffset},
    {DType::IQ2_S, whole_codes_iq2_s, kIq2Offset},     {DType::IQ2_XS, whole_codes_iq2_xs, kIq2Offset},
    {DType::IQ2_XXS, whole_codes_iq2_xxs, kIq2Offset}, {DType::IQ1_M, whole_codes_iq1_m, kIq1Offset},
    {DType::IQ1_S, whole_codes_iq1_s, kIq1Offset},     {DType::TQ1_0, whole_codes_tq1_0, kTq1Offset},
};

class WholeCodesTest : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Formats, WholeCodesTest, testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(dtype::info(test.param.type).name); });

// Random blocks, and such whose bytes are all alike: the decoder's values, and codes within their range.
TEST_P(WholeCodesTest, AreTheDecodersValues) {
    const DTypeInfo& format = info(GetParam().type);
    std::mt19937 random(1);
    int least = 255, most = 0;
    for (int round = 0; round < 300; ++round) {
        std::vector<uint8_t> block(static_cast<size_t>(format.block_bytes));
        for (uint8_t& byte : block)
            byte = round < 256 ? static_cast<uint8_t>(round) : static_cast<uint8_t>(random());
        format.tame(block.data(), 256, 0.7f);
        WholeCodes found;
        GetParam().function(block.data(), found);
        std::vector<float> expected(256);
        format.decode(block.data(), expected.data(), 256);
        for (int i = 0; i < 256; ++i) {
            least = std::min<int>(least, found.codes[i]);
            most = std::max<int>(most, found.codes[i]);
            const float value = static_cast<float>(found.codes[i] - GetParam().offset) * found.scales[i / 16];
            ASSERT_NEAR(value, expected[i], std::fabs(expected[i]) * 1e-6) << round << " " << i;
        }
    }
    EXPECT_EQ(least, 0);
    EXPECT_EQ(most, 2 * GetParam().offset);
}

}  // namespace
}  // namespace plait::dtype
