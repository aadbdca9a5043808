// Decoding and encoding of every format, against golden data of an independent implementation and against
// bounds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "plait/dtype/dtype.h"
#include "plait/dtype/half.h"

namespace plait::dtype {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kHuge = std::numeric_limits<float>::max();

std::vector<DType> formats_where(bool (*wanted)(const DTypeInfo&)) {
    std::vector<DType> out;
    for (const DTypeInfo& row : table())
        if (wanted(row)) out.push_back(row.type);
    return out;
}

const std::vector<DType> kBlockTypes =
    formats_where([](const DTypeInfo& row) { return row.block_elements > 1; });
// Those that encode; all have blocks of 32.
const std::vector<DType> kEncoded =
    formats_where([](const DTypeInfo& row) { return row.block_elements > 1 && row.encode != nullptr; });
const std::vector<DType> kTamed = formats_where([](const DTypeInfo& row) { return row.tame != nullptr; });

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

// What a block format can represent, for its encoder's bounds.
struct Grid {
    DType type;
    float steps;  // from 0, or from the minimum, to the extreme
    bool has_min;
    float missing;  // steps that the end opposite to the extreme may lack
};
constexpr Grid kGrids[] = {{DType::Q8_0, 127, false, 0},
                           {DType::Q4_0, 8, false, 0.5f},
                           {DType::Q4_1, 15, true, 0},
                           {DType::Q5_0, 16, false, 0.5f},
                           {DType::Q5_1, 31, true, 0}};

float step_of(const Grid& grid, const float* block) {
    const auto [low, high] = std::minmax_element(block, block + 32);
    if (grid.has_min) return (*high - *low) / grid.steps;
    return std::max(std::fabs(*low), std::fabs(*high)) / grid.steps;
}

// FNV-1a over the bytes of the values, every NaN alike.
std::string digest(std::span<const float> values) {
    uint64_t hash = 0xcbf29ce484222325;
    for (const float value : values) {
        const uint32_t bits = std::isnan(value) ? 0x7FC00000u : bits_of(value);
        for (int byte = 0; byte < 4; ++byte) hash = (hash ^ (bits >> (8 * byte) & 255u)) * 0x100000001b3;
    }
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
    return text;
}

TEST(Formats, DecodeGoldenBlocksBitForBit) {
    const nlohmann::json all = golden();
    for (const DType type : kBlockTypes) {
        const auto width = static_cast<size_t>(info(type).block_elements);
        for (const nlohmann::json& cases : all.at(info(type).name).at("decode")) {
            const std::vector<float> found = decode(type, from_hex(cases.at("blocks")));
            const nlohmann::json& digests = cases.at("digests");
            ASSERT_EQ(found.size(), digests.size() * width);
            ASSERT_GE(digests.size(), 4u);
            for (size_t block = 0; block < digests.size(); ++block)
                EXPECT_EQ(digest(std::span(found).subspan(block * width, width)), digests[block])
                    << info(type).name << " block " << block;
        }
    }
}

TEST(Formats, EncodeGoldenBlocksByteForByte) {
    const nlohmann::json all = golden();
    for (const Grid& grid : kGrids) {
        const nlohmann::json& cases = all.at(info(grid.type).name).at("encode");
        EXPECT_EQ(encode(grid.type, floats_from_hex(cases.at("values"))), from_hex(cases.at("blocks")))
            << info(grid.type).name;
    }
}

std::vector<float> random_block(std::mt19937& random, int trial) {
    std::normal_distribution<float> spread(std::ldexp(1.0f, trial % 9 - 4), std::ldexp(1.0f, trial % 13 - 6));
    std::vector<float> values(32);
    for (float& value : values) value = spread(random);
    return values;
}

float largest_magnitude(const std::vector<float>& values) {
    return std::fabs(*std::ranges::max_element(values, {}, [](float v) { return std::fabs(v); }));
}

TEST(Formats, EncodingErrorIsBounded) {
    std::mt19937 random(11);
    for (const Grid& grid : kGrids) {
        for (int trial = 0; trial < 500; ++trial) {
            const std::vector<float> values = random_block(random, trial);
            const std::vector<float> found = round_trip(grid.type, values);
            // Half a step of rounding, plus what the scale (and minimum) lose as halves.
            const float bound = step_of(grid, values.data()) * (0.5f + grid.missing) +
                                largest_magnitude(values) * 0x1.2p-10f + 0x1.0p-20f;
            for (int j = 0; j < 32; ++j)
                ASSERT_LE(std::fabs(found[j] - values[j]), bound)
                    << info(grid.type).name << " " << trial << " " << j;
        }
    }
}

// IQ4_NL: the widest gap between neighbours is 24 of 127, and the end opposite to the extreme lacks 14.
TEST(Formats, EncodingErrorOfUnevenStepsIsBounded) {
    std::mt19937 random(12);
    for (int trial = 0; trial < 500; ++trial) {
        const std::vector<float> values = random_block(random, trial);
        const std::vector<float> found = round_trip(DType::IQ4_NL, values);
        const float bound = largest_magnitude(values) * 0.16f + 0x1.0p-18f;
        double error = 0, size = 0;
        for (int j = 0; j < 32; ++j) {
            ASSERT_LE(std::fabs(found[j] - values[j]), bound) << trial << " " << j;
            error += std::pow(found[j] - values[j], 2);
            size += std::pow(values[j], 2);
        }
        ASSERT_LE(error, size * 0.02) << trial;
    }
}

TEST(Formats, UnevenStepsRoundToTheNearest) {
    std::vector<float> values(32, 0.0f);
    const float exact[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
    std::ranges::copy(exact, values.begin());
    std::ranges::copy(exact, values.begin() + 16);
    EXPECT_EQ(round_trip(DType::IQ4_NL, values), values);
    for (float& value : values) value = -value;
    EXPECT_EQ(round_trip(DType::IQ4_NL, values), values);
    // The tie between 13 and 25 goes to code 10, 25. So little changes d by less than half a step of its F16.
    values[9] = -19.0f;
    EXPECT_NEAR(round_trip(DType::IQ4_NL, values)[9], -25.0f, 0.05f);
}

// Random bits become finite values with about the mean and deviation asked for.
TEST(Formats, TamedBlocksHaveTheSpreadAskedFor) {
    std::mt19937 random(13);
    for (const DType type : kTamed) {
        for (const float deviation : {0x1p-10f, 0.01f, 0.3f, 1.0f}) {
            const int64_t n = 512 * 256;
            std::vector<uint8_t> blocks(static_cast<size_t>(row_bytes(type, n)));
            for (uint8_t& byte : blocks) byte = static_cast<uint8_t>(random());
            info(type).tame(blocks.data(), n, deviation);
            double sum = 0, squares = 0;
            for (const float value : decode(type, blocks)) {
                ASSERT_TRUE(std::isfinite(value)) << info(type).name;
                sum += value;
                squares += static_cast<double>(value) * value;
            }
            EXPECT_NEAR(sum / n / deviation, 0, 0.05) << info(type).name << " " << deviation;
            EXPECT_NEAR(std::sqrt(squares / n) / deviation, 1, 0.08) << info(type).name << " " << deviation;
        }
    }
}

TEST(Formats, EveryFormatEncodesOrTames) {
    for (const DTypeInfo& row : table()) EXPECT_NE(row.encode == nullptr, row.tame == nullptr) << row.name;
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
    for (const DTypeInfo& row : table()) {
        if (row.encode) {
            EXPECT_EQ(round_trip(row.type, zeros), zeros) << row.name;
        }
    }
}

TEST(Formats, AConstantBlockIsMetToHalfPrecision) {
    for (const DType type : kEncoded) {
        for (const float constant : {1.0f, -3.1415f, 1e-3f, 60000.0f, -60000.0f}) {
            for (const float found : round_trip(type, std::vector<float>(32, constant)))
                EXPECT_NEAR(found, constant, std::fabs(constant) * 0x1.0p-10f) << info(type).name;
        }
    }
}

TEST(Formats, TinyValuesBecomeZero) {
    for (const DType type : kEncoded) {
        std::vector<float> values(32, 0.0f);
        values[3] = std::numeric_limits<float>::denorm_min();
        values[4] = -1e-30f;
        for (const float found : round_trip(type, values)) EXPECT_EQ(found, 0.0f) << info(type).name;
    }
}

TEST(Formats, HugeAndBrokenInputStaysFinite) {
    const std::vector<std::vector<float>> hostile = {
        {kHuge, -kHuge}, {kInf}, {-kInf}, {kNan}, {kInf, -kInf, kNan, 1.0f}, {-1e6f}, {1e38f, 1e37f, -2.0f}};
    for (const DType type : kEncoded) {
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
    EXPECT_EQ(round_trip(DType::Q5_0, values)[31], 16.0f * kMaxF16);
    EXPECT_EQ(round_trip(DType::Q5_1, values)[0], 31.0f * kMaxF16);
    EXPECT_EQ(round_trip(DType::IQ4_NL, values)[0], 127.0f * kMaxF16);
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
    for (const DType type : kEncoded)
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
    for (const DType type : kEncoded) {
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
        row.decode(nullptr, nullptr, 0);
        if (row.encode) row.encode(nullptr, nullptr, 0);
        if (row.tame) row.tame(nullptr, 0, 1.0f);
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
