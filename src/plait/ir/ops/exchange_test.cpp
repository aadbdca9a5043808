#include "plait/ir/ops/exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plait/ir/test_support.h"

namespace plait::ir::test {
namespace {

using testing::IsEmpty;

const TensorDesc kTokens{DType::F32, {4, 3, 5}, Rows::tokens};
const TensorDesc kOutputs{DType::F32, {2, 7}, Rows::outputs};
const TensorDesc kFixed{DType::F32, {9}};

TEST(Exchange, GivesWhatItIsToReceive) {
    const Exchange op{.received = {kOutputs, kFixed}};
    EXPECT_EQ(op_infer(op, std::vector{kTokens}), op.received);
    EXPECT_EQ(op_infer(op, std::vector{kTokens, kFixed, kTokens}), op.received);
    EXPECT_EQ(op_infer(op, {}), op.received);
    EXPECT_THAT(op_infer(Exchange{}, std::vector{kTokens}), IsEmpty());
    EXPECT_THAT(op_infer(Exchange{}, {}), IsEmpty());
}

TEST(Exchange, IsAHostActionWithStorageOfItsOwn) {
    EXPECT_TRUE(op_is_host_action(Exchange{}));
    EXPECT_FALSE(op_is_view(Exchange{}));
    EXPECT_EQ(op_linear_in(Exchange{}), 0u);
}

TEST(Exchange, SaysWhatDoesNotFit) {
    const TensorDesc ids{DType::I32, {4}, Rows::tokens};
    EXPECT_EQ(refusal(Exchange{}, {kTokens, ids}), "exchange: expected what is shown as F32, found I32[4]");
    EXPECT_EQ(refusal(Exchange{.received = {kTokens, ids}}, {}),
              "exchange: expected what is received as F32, found I32[4]");
}

}  // namespace
}  // namespace plait::ir::test
