#include "plait/load/mirrored.h"

#include <gtest/gtest.h>

namespace plait::load {
namespace {

using Bytes = std::vector<int64_t>;

// A tensor that takes nothing but its rows, by member.
Bytes plain_bytes(const device::StoredTensor& tensor, int members) {
    Bytes bytes;
    for (int m = 0; m < members; ++m) bytes.push_back(ir::stored_desc(tensor.desc, tensor.layout, m).bytes());
    return bytes;
}

Bytes mirrored(const ir::TensorDesc& desc, const ir::Layout& layout, int members) {
    const device::StoredTensor tensor(desc, layout);
    return mirrored_bytes(tensor, plain_bytes(tensor, members));
}

TEST(Mirrored, AWholeTensorIsMirroredWhereTwoHaveIt) {
    const ir::TensorDesc desc{ir::DType::F32, {10, 4}};
    EXPECT_EQ(mirrored_bytes(desc, Bytes{160}), Bytes{0});
    EXPECT_EQ(mirrored_bytes(desc, Bytes{160, 192}), (Bytes{160, 192}));
    EXPECT_EQ(mirrored_bytes(desc, Bytes{160, 0}), (Bytes{0, 0}));
    EXPECT_EQ(mirrored_bytes(desc, Bytes{160, 0, 160}), (Bytes{160, 0, 160}));
}

TEST(Mirrored, WhatIsCutIsNot) {
    const ir::TensorDesc desc{ir::DType::F32, {10, 4}};
    EXPECT_EQ(mirrored(desc, ir::Layout::split(0, 10, {{0, 5}, {5, 10}}), 2), (Bytes{0, 0}));
    EXPECT_EQ(mirrored(desc, ir::Layout::split(1, 4, {{0, 1}, {1, 1}, {1, 4}}), 3), (Bytes{0, 0, 0}));
}

TEST(Mirrored, HeadsThatTwoReadCountOnBoth) {
    const ir::TensorDesc desc{ir::DType::F32, {4, 8}};  // a row per head
    EXPECT_EQ(mirrored(desc, ir::Layout::split(0, 4, {{0, 2}, {1, 3}, {2, 4}}), 3), (Bytes{32, 64, 32}));
    EXPECT_EQ(mirrored(desc, ir::Layout::split(0, 4, {{0, 1}, {0, 1}, {0, 4}}), 3), (Bytes{32, 32, 32}));
    EXPECT_EQ(mirrored_bytes({desc, ir::Layout::split(0, 4, {{0, 2}, {1, 4}})}, Bytes{64, 0}), (Bytes{0, 0}));
}

TEST(Mirrored, ABlockThatABorderGoesThroughCountsOnBoth) {
    const ir::TensorDesc desc{ir::DType::Q8_0, {3, 96}};  // blocks of 32 values, 34 bytes
    EXPECT_EQ(mirrored(desc, ir::Layout::split(1, 96, {{0, 32}, {32, 96}}), 2), (Bytes{0, 0}));
    EXPECT_EQ(mirrored(desc, ir::Layout::split(1, 96, {{0, 40}, {40, 96}}), 2), (Bytes{3 * 34, 3 * 34}));
    EXPECT_EQ(mirrored(desc, ir::Layout::split(1, 96, {{0, 40}, {40, 50}, {50, 96}}), 3),
              (Bytes{3 * 34, 3 * 34, 3 * 34}));
}

TEST(Mirrored, SegmentsAreComparedWithThemselves) {
    const ir::TensorDesc desc{ir::DType::F32, {8, 2}};  // [Q 4 | K 2 | V 2]
    const ir::Segment queries{4, {{0, 2}, {2, 4}}}, both{2, {{0, 1}, {0, 2}}}, cut{2, {{0, 1}, {1, 2}}};
    EXPECT_EQ(mirrored(desc, ir::Layout::split(0, {queries, both, cut}), 2), (Bytes{8, 8}));
}

}  // namespace
}  // namespace plait::load
