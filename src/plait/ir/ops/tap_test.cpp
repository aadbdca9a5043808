#include "plait/ir/ops/tap.h"

#include <gtest/gtest.h>

#include "plait/ir/test_support.h"

namespace plait::ir::test {
namespace {

TEST(Tap, PassesAnyActivationOn) {
    const TensorDesc x{DType::F32, {4, 3, 5}, Rows::tokens};
    EXPECT_EQ(op_infer(Tap{1}, std::vector{x}), std::vector{x});
    const TensorDesc ids{DType::I32, {4}, Rows::tokens};
    EXPECT_EQ(refusal(Tap{}, {ids}), "tap: expected x as F32, found I32[4]");
    EXPECT_EQ(refusal(Tap{}, {}), "tap: expected 1 operands, found 0");
}

}  // namespace
}  // namespace plait::ir::test
