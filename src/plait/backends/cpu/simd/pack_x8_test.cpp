#include "plait/backends/cpu/simd/pack_x8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "plait/dtype/dtype.h"

namespace plait::backends::cpu::simd {
namespace {

std::vector<uint8_t> random_bytes(int64_t count) {
    std::vector<uint8_t> bytes(static_cast<size_t>(count));
    uint32_t state = 12345;
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>((state = state * 1664525 + 1013904223) >> 24);
    return bytes;
}

class PackX8 : public testing::TestWithParam<dtype::DType> {
  protected:
    const dtype::DTypeInfo& format_ = dtype::info(GetParam());
};

std::vector<dtype::DType> packable() {
    std::vector<dtype::DType> types;
    for (const dtype::DTypeInfo& row : dtype::table())
        if (can_pack_x8(row.type)) types.push_back(row.type);
    return types;
}
INSTANTIATE_TEST_SUITE_P(Formats, PackX8, testing::ValuesIn(packable()),
                         [](const auto& type) { return std::string(dtype::info(type.param).name); });

// Every block comes out as it went in; what lies behind the last row is zero, behind the last group nobody's.
TEST_P(PackX8, UnpackingGivesTheRowsBack) {
    const int64_t block_bytes = format_.block_bytes;
    for (const int64_t rows : {1, 7, 8, 9, 16, 17, 37}) {
        for (const int64_t blocks : {1, 3}) {
            const int64_t row_bytes = blocks * block_bytes;
            const std::vector<uint8_t> source = random_bytes(rows * row_bytes);
            std::vector<uint8_t> packed(static_cast<size_t>(packed_rows(rows) * row_bytes + 1), 0xEE);
            pack_x8(GetParam(),
                    {source.data(), row_bytes, packed.data(), rows, blocks * format_.block_elements});
            for (int64_t row = 0; row < packed_rows(rows); ++row) {
                for (int64_t b = 0; b < blocks; ++b) {
                    std::vector<uint8_t> block(static_cast<size_t>(block_bytes), 0xEE);
                    std::vector<uint8_t> expected(block.size(), 0);
                    unpack_x8_block(GetParam(), packed.data() + row / kPackedRows * kPackedRows * row_bytes,
                                    row % kPackedRows, b, block.data());
                    if (row < rows)
                        std::copy_n(source.data() + row * row_bytes + b * block_bytes, block_bytes,
                                    expected.data());
                    ASSERT_EQ(block, expected) << "rows " << rows << " row " << row << " block " << b;
                }
            }
            ASSERT_EQ(packed.back(), 0xEE);
        }
    }
}

TEST_P(PackX8, NoRowsWriteNothing) {
    uint8_t byte = 7;
    pack_x8(GetParam(), {nullptr, format_.block_bytes, &byte, 0, format_.block_elements});
    EXPECT_EQ(byte, 7);
}

// The header's words, spelled out for a plain format and for one with sorted bits.
TEST(PackX8Layout, ChunksOfFourCodesOfEightRows) {
    const std::vector<uint8_t> rows = random_bytes(8 * 18);
    std::vector<uint8_t> group(16 * 18);
    pack_x8(dtype::DType::Q4_0, {rows.data(), 18, group.data(), 8, 32});
    for (int row = 0; row < 8; ++row) {
        for (int byte = 0; byte < 2; ++byte) EXPECT_EQ(group[2 * row + byte], rows[18 * row + byte]);
        for (int byte = 0; byte < 16; ++byte)
            EXPECT_EQ(group[16 + byte / 4 * 32 + 4 * row + byte % 4], rows[18 * row + 2 + byte]);
    }
}

// Blocks of the second eight rows stand between those of the first.
TEST(PackX8Layout, BlocksOfTwoGroupsAlternate) {
    const std::vector<uint8_t> rows = random_bytes(16 * 3 * 18);
    std::vector<uint8_t> pair(16 * 3 * 18);
    pack_x8(dtype::DType::Q4_0, {rows.data(), 3 * 18, pair.data(), 16, 3 * 32});
    for (int row = 0; row < 16; ++row) {
        for (int block = 0; block < 3; ++block) {
            const int at = (2 * block + row / 8) * 8 * 18 + 2 * (row % 8);
            EXPECT_EQ(pair[at], rows[(3 * row + block) * 18]) << row << " " << block;
        }
    }
}

TEST(PackX8Layout, ChunkCTakesBitC) {
    std::vector<uint8_t> row(176, 0);
    const auto high_bit = [&](int element) -> uint8_t& { return row[16 + element % 32]; };
    high_bit(32 * 5 + 4 * 6 + 3) = 1 << 5;  // chunk 6, byte 3 of part 5
    std::vector<uint8_t> group(16 * 176);
    pack_x8(dtype::DType::Q5_K, {row.data(), 176, group.data(), 1, 256});
    std::vector<uint8_t> expected(16 * 176, 0);
    expected[8 * 16 + 32 * 5 + 3] = 1 << 6;
    EXPECT_EQ(group, expected);
}

TEST(PackX8DeathTest, PartialBlocksStop) {
    uint8_t bytes[1] = {};
    EXPECT_DEATH(pack_x8(dtype::DType::Q4_0, {bytes, 18, bytes, 1, 33}), "whole blocks");
}

}  // namespace
}  // namespace plait::backends::cpu::simd
