#include "plait/backends/cpu/simd/pack_x8.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace plait::backends::cpu::simd {
namespace {

// Where byte `offset` of row `lane`'s block goes in the group's block, from the header's table.
int64_t place(int64_t offset, int64_t head, int64_t lane) {
    if (offset < head) return offset / 2 * 16 + 2 * lane + offset % 2;
    const int64_t byte = offset - head;
    return 8 * head + byte / 4 * 32 + 4 * lane + byte % 4;
}

void expect_layout(void (*pack)(const PackArgs&), int64_t block_bytes, int64_t head) {
    for (const int64_t rows : {1, 7, 8, 9, 16, 21}) {
        for (const int64_t blocks : {1, 3}) {
            const int64_t row_bytes = blocks * block_bytes;
            std::vector<uint8_t> source(static_cast<size_t>(rows * row_bytes));
            uint32_t state = 12345;
            for (uint8_t& byte : source)
                byte = static_cast<uint8_t>((state = state * 1664525 + 1013904223) >> 24);
            std::vector<uint8_t> packed(static_cast<size_t>(packed_rows(rows) * row_bytes + 1), 0xEE);
            pack({source.data(), row_bytes, packed.data(), rows, blocks * 32});
            for (int64_t row = 0; row < packed_rows(rows); ++row) {
                for (int64_t byte = 0; byte < row_bytes; ++byte) {
                    const int64_t group_block = (row / 8 * blocks + byte / block_bytes) * 8 * block_bytes;
                    const int64_t at = group_block + place(byte % block_bytes, head, row % 8);
                    const uint8_t expected = row < rows ? source[row * row_bytes + byte] : 0;
                    ASSERT_EQ(packed[at], expected) << "rows " << rows << " row " << row << " byte " << byte;
                }
            }
            ASSERT_EQ(packed.back(), 0xEE);
        }
    }
}

TEST(PackX8, Q8_0) { expect_layout(pack_q8_0_x8, 34, 2); }
TEST(PackX8, Q4_0) { expect_layout(pack_q4_0_x8, 18, 2); }
TEST(PackX8, Q4_1) { expect_layout(pack_q4_1_x8, 20, 4); }

TEST(PackX8, NoRowsWriteNothing) {
    uint8_t byte = 7;
    pack_q4_0_x8({nullptr, 18, &byte, 0, 32});
    EXPECT_EQ(byte, 7);
}

TEST(PackX8DeathTest, PartialBlocksStop) {
    uint8_t bytes[1] = {};
    EXPECT_DEATH(pack_q4_0_x8({bytes, 18, bytes, 1, 33}), "whole blocks");
}

}  // namespace
}  // namespace plait::backends::cpu::simd
