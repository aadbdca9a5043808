#include "plait/ir/tensor.h"

#include <gtest/gtest.h>

#include "plait/ir/weights.h"

namespace plait::ir {
namespace {

TEST(Shape, HoldsExtentsOutermostFirst) {
    const Shape shape{32, 4, 64};
    EXPECT_EQ(shape.rank(), 3);
    EXPECT_EQ(shape[0], 32);
    EXPECT_EQ(shape.last(), 64);
    EXPECT_EQ(shape.elements(), 32 * 4 * 64);
    EXPECT_EQ(shape.text(), "[32, 4, 64]");
}

TEST(Shape, OfNoAxesIsOneElement) {
    EXPECT_EQ(Shape().rank(), 0);
    EXPECT_EQ(Shape().elements(), 1);
    EXPECT_EQ(Shape().last(), 1);
    EXPECT_EQ(Shape().text(), "[]");
}

TEST(Shape, WithAnEmptyAxisHasNoElements) { EXPECT_EQ((Shape{3, 0}).elements(), 0); }

TEST(Shape, ComparesRankAndExtents) {
    EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
    EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
    EXPECT_NE((Shape{2}), (Shape{2, 0}));
}

TEST(ShapeDeathTest, RefusesAFifthAxis) { EXPECT_DEATH((Shape{1, 2, 3, 4, 5}), "four axes"); }

TEST(TensorDesc, CountsBytesOfElementTypes) {
    const TensorDesc desc{DType::F16, {5, 3, 7}};
    EXPECT_EQ(desc.row_bytes(), 14);
    EXPECT_EQ(desc.row_count(), 15);
    EXPECT_EQ(desc.bytes(), 210);
    EXPECT_EQ(desc.slice_bytes(), 42);
    EXPECT_EQ(desc.text(), "F16[5, 3, 7]");
}

TEST(TensorDesc, PadsRowsToWholeBlocks) {
    const TensorDesc desc{DType::Q8_0, {2, 80}};
    EXPECT_EQ(desc.row_bytes(), 3 * 34);
    EXPECT_EQ(desc.bytes(), 2 * 3 * 34);
}

TEST(TensorDesc, OfNoRowsHasNoBytes) {
    const TensorDesc desc{DType::F32, {0, 4}};
    EXPECT_EQ(desc.bytes(), 0);
    EXPECT_EQ(desc.slice_bytes(), 0);
}

TEST(TensorDesc, OfOneAxisIsOneRow) {
    const TensorDesc desc{DType::F32, {9}};
    EXPECT_EQ(desc.row_count(), 1);
    EXPECT_EQ(desc.bytes(), 36);
    EXPECT_EQ(desc.slice_bytes(), 4);
}

TEST(StateGroupSpec, CountsPaddedBytesPerToken) {
    const StateGroupSpec group{.name = "kv",
                               .tensors = {{.name = "blk.0.k", .type = DType::Q8_0, .heads = 2, .width = 80},
                                           {.name = "blk.0.v", .type = DType::F16, .heads = 2, .width = 80}}};
    EXPECT_EQ(group.bytes_per_token(), 2 * 3 * 34 + 2 * 160);
    EXPECT_EQ(StateGroupSpec{}.bytes_per_token(), 0);
}

TEST(Role, HasANameOfItsOwn) {
    EXPECT_STREQ(role_name(Role::key_value), "key/value");
    EXPECT_STREQ(role_name(Role::expert_down), "expert down");
}

}  // namespace
}  // namespace plait::ir
