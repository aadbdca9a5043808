// Decoding and encoding of every format, against golden data of an independent implementation and against
// bounds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "plait/dtype/dtype.h"
#include "plait/dtype/half.h"

namespace plait::dtype {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kHuge = std::numeric_limits<float>::max();
constexpr DType kBlockTypes[] = {DType::Q8_0, DType::Q4_0, DType::Q4_1};

std::vector<uint8_t> from_hex(const std::string& text) {
    std::vector<uint8_t> bytes(text.size() / 2);
    for (size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<uint8_t>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
    return bytes;
}

std::vector<float> floats_from_hex(const std::string& text) {
    const std::vector<uint8_t> bytes = from_hex(text);
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

nlohmann::json golden() {
    std::ifstream file(PLAIT_SOURCE_DIR "/tests/golden/dtype/blocks.json");
    return nlohmann::json::parse(file);
}

std::vector<uint8_t> encode(DType type, const std::vector<float>& values) {
    std::vector<uint8_t> blocks(row_bytes(type, static_cast<int64_t>(values.size())));
    info(type).encode(values.data(), blocks.data(), static_cast<int64_t>(values.size()));
    return blocks;
}

std::vector<float> decode(DType type, const std::vector<uint8_t>& blocks) {
    const DTypeInfo& row = info(type);
    std::vector<float> values(blocks.size() / row.block_bytes * row.block_elements);
    row.decode(blocks.data(), values.data(), static_cast<int64_t>(values.size()));
    return values;
}

std::vector<float> round_trip(DType type, const std::vector<float>& values) {
    return decode(type, encode(type, values));
}

uint32_t bits_of(float value) { return std::bit_cast<uint32_t>(value); }

// One step of the format for this block: the distance between neighbouring codes.
float step_of(DType type, const float* block) {
    const auto [low, high] = std::minmax_element(block, block + 32);
    const float amax = std::max(std::fabs(*low), std::fabs(*high));
    if (type == DType::Q8_0) return amax / 127;
    if (type == DType::Q4_0) return amax / 8;
    return (*high - *low) / 15;
}

TEST(Formats, DecodeGoldenBlocksBitForBit) {
    const nlohmann::json all = golden();
    for (const DType type : kBlockTypes) {
        const nlohmann::json& cases = all.at(info(type).name).at("decode");
        const std::vector<float> expected = floats_from_hex(cases.at("values"));
        const std::vector<float> found = decode(type, from_hex(cases.at("blocks")));
        ASSERT_EQ(found.size(), expected.size());
        ASSERT_GE(found.size(), 32u * 8);
        for (size_t i = 0; i < found.size(); ++i)
            ASSERT_EQ(bits_of(found[i]), bits_of(expected[i])) << info(type).name << " " << i;
    }
}

TEST(Formats, EncodeGoldenBlocksByteForByte) {
    const nlohmann::json all = golden();
    for (const DType type : kBlockTypes) {
        const nlohmann::json& cases = all.at(info(type).name).at("encode");
        EXPECT_EQ(encode(type, floats_from_hex(cases.at("values"))), from_hex(cases.at("blocks")))
            << info(type).name;
    }
}

TEST(Formats, EncodingErrorIsBounded) {
    std::mt19937 random(11);
    for (const DType type : kBlockTypes) {
        for (int trial = 0; trial < 500; ++trial) {
            std::normal_distribution<float> spread(std::ldexp(1.0f, trial % 9 - 4),
                                                   std::ldexp(1.0f, trial % 13 - 6));
            std::vector<float> values(32);
            for (float& value : values) value = spread(random);
            const std::vector<float> found = round_trip(type, values);
            const float amax =
                std::fabs(*std::ranges::max_element(values, {}, [](float v) { return std::fabs(v); }));
            const float step = step_of(type, values.data());
            // Half a step of rounding, plus what the scale (and minimum) lose as halves. Q4_0 has no code for
            // +8 steps: the end opposite to the extreme loses a whole step.
            const float bound = step * (type == DType::Q4_0 ? 1.0f : 0.5f) + amax * 0x1.2p-10f + 0x1.0p-20f;
            for (int j = 0; j < 32; ++j)
                ASSERT_LE(std::fabs(found[j] - values[j]), bound)
                    << info(type).name << " " << trial << " " << j;
        }
    }
}

TEST(Formats, ExtremesOfTheBlockAreMet) {
    std::vector<float> values(32);
    for (int j = 0; j < 32; ++j) values[j] = static_cast<float>(j) - 20.0f;
    EXPECT_NEAR(round_trip(DType::Q4_0, values)[0], -20.0f, 0.02f);
    EXPECT_NEAR(round_trip(DType::Q4_1, values)[0], -20.0f, 0.02f);
    EXPECT_NEAR(round_trip(DType::Q4_1, values)[31], 11.0f, 0.04f);
    EXPECT_NEAR(round_trip(DType::Q8_0, values)[0], -20.0f, 0.02f);
    for (float& value : values) value = -value;
    EXPECT_NEAR(round_trip(DType::Q4_0, values)[0], 20.0f, 0.02f);
}

TEST(Formats, ZerosStayZeros) {
    const std::vector<float> zeros(96, 0.0f);
    for (const DTypeInfo& row : table()) EXPECT_EQ(round_trip(row.type, zeros), zeros) << row.name;
}

TEST(Formats, AConstantBlockIsMetToHalfPrecision) {
    for (const DType type : kBlockTypes) {
        for (const float constant : {1.0f, -3.1415f, 1e-3f, 60000.0f, -60000.0f}) {
            for (const float found : round_trip(type, std::vector<float>(32, constant)))
                EXPECT_NEAR(found, constant, std::fabs(constant) * 0x1.0p-10f) << info(type).name;
        }
    }
}

TEST(Formats, TinyValuesBecomeZero) {
    for (const DType type : kBlockTypes) {
        std::vector<float> values(32, 0.0f);
        values[3] = std::numeric_limits<float>::denorm_min();
        values[4] = -1e-30f;
        for (const float found : round_trip(type, values)) EXPECT_EQ(found, 0.0f) << info(type).name;
    }
}

TEST(Formats, HugeAndBrokenInputStaysFinite) {
    const std::vector<std::vector<float>> hostile = {
        {kHuge, -kHuge}, {kInf}, {-kInf}, {kNan}, {kInf, -kInf, kNan, 1.0f}, {-1e6f}, {1e38f, 1e37f, -2.0f}};
    for (const DType type : kBlockTypes) {
        for (size_t trial = 0; trial < hostile.size(); ++trial) {
            std::vector<float> values(32, hostile[trial].back());
            std::ranges::copy(hostile[trial], values.begin());
            for (const float found : round_trip(type, values))
                EXPECT_TRUE(std::isfinite(found)) << info(type).name << " case " << trial;
        }
    }
}

TEST(Formats, WhatIsTooLargeBecomesTheLargest) {
    std::vector<float> values(32, 0.0f);
    values[0] = kHuge;
    values[31] = kInf;
    EXPECT_EQ(round_trip(DType::Q8_0, values)[0], 127.0f * kMaxF16);
    EXPECT_EQ(round_trip(DType::Q8_0, values)[31], 127.0f * kMaxF16);
    EXPECT_EQ(round_trip(DType::Q4_0, values)[31], 8.0f * kMaxF16);
    EXPECT_EQ(round_trip(DType::Q4_1, values)[0], 15.0f * kMaxF16);
    EXPECT_EQ(round_trip(DType::Q4_1, values)[1], 0.0f);
    values[0] = -kInf;
    values[31] = 0.0f;
    EXPECT_EQ(round_trip(DType::Q8_0, values)[0], -127.0f * kMaxF16);
    EXPECT_EQ(round_trip(DType::Q4_0, values)[0], -8.0f * kMaxF16);
    EXPECT_EQ(round_trip(DType::Q4_1, values)[0], -kMaxF16);
}

TEST(Formats, NanInABlockCountsAsZero) {
    std::vector<float> values(32, 1.0f), cleaned = values;
    values[7] = kNan;
    cleaned[7] = 0.0f;
    for (const DType type : kBlockTypes)
        EXPECT_EQ(encode(type, values), encode(type, cleaned)) << info(type).name;
}

TEST(Formats, TiesGoToEven) {
    std::vector<float> values(32, 0.0f);
    values[0] = 127.0f;  // d = 1
    values[1] = 0.5f;
    values[2] = 1.5f;
    values[3] = -2.5f;
    EXPECT_EQ(round_trip(DType::Q8_0, values)[1], 0.0f);
    EXPECT_EQ(round_trip(DType::Q8_0, values)[2], 2.0f);
    EXPECT_EQ(round_trip(DType::Q8_0, values)[3], -2.0f);
}

TEST(Formats, BlocksAreIndependent) {
    std::mt19937 random(3);
    std::normal_distribution<float> spread(0, 1);
    std::vector<float> values(32 * 5);
    for (float& value : values) value = spread(random);
    for (const DType type : kBlockTypes) {
        const std::vector<uint8_t> all = encode(type, values);
        const int bytes = info(type).block_bytes;
        for (int b = 0; b < 5; ++b) {
            const std::vector<uint8_t> one =
                encode(type, {values.begin() + 32 * b, values.begin() + 32 * (b + 1)});
            EXPECT_TRUE(std::equal(one.begin(), one.end(), all.begin() + b * bytes)) << info(type).name << b;
        }
    }
}

TEST(Formats, NoElementsTouchNothing) {
    for (const DTypeInfo& row : table()) {
        row.encode(nullptr, nullptr, 0);
        row.decode(nullptr, nullptr, 0);
    }
}

TEST(ElementFormats, OddCountsAndSpecialValues) {
    const std::vector<float> values = {1.0f, -0.0f, kInf, -kInf, 0.333333333f};
    EXPECT_EQ(round_trip(DType::F32, values), values);
    for (const DType type : {DType::F16, DType::BF16}) {
        const std::vector<float> found = round_trip(type, values);
        ASSERT_EQ(found.size(), values.size());
        for (int i = 0; i < 4; ++i) EXPECT_EQ(bits_of(found[i]), bits_of(values[i])) << info(type).name;
        EXPECT_NEAR(found[4], values[4], 2e-3f);
        EXPECT_TRUE(std::isnan(round_trip(type, {kNan})[0]));
    }
    EXPECT_EQ(bits_of(round_trip(DType::F32, {kNan})[0]), bits_of(kNan));
}

TEST(ElementFormats, FiniteValuesNeverBecomeInfinite) {
    EXPECT_EQ(round_trip(DType::F16, {kHuge, -1e6f, 65519.0f}),
              (std::vector<float>{kMaxF16, -kMaxF16, kMaxF16}));
    EXPECT_EQ(round_trip(DType::BF16, {kHuge, -kHuge}), (std::vector<float>{kMaxBF16, -kMaxBF16}));
}

TEST(ElementFormats, IdsRoundAndClamp) {
    EXPECT_EQ(round_trip(DType::I32, {0.0f, -1.0f, 16777216.0f, 2.5f, 3.5f, kNan}),
              (std::vector<float>{0.0f, -1.0f, 16777216.0f, 2.0f, 4.0f, 0.0f}));
    const std::vector<uint8_t> limits = encode(DType::I32, {kInf, -kInf, 1e20f});
    int32_t stored[3];
    std::memcpy(stored, limits.data(), sizeof stored);
    EXPECT_EQ(stored[0], std::numeric_limits<int32_t>::max());
    EXPECT_EQ(stored[1], std::numeric_limits<int32_t>::min());
    EXPECT_EQ(stored[2], std::numeric_limits<int32_t>::max());
}

}  // namespace
}  // namespace plait::dtype
