#include "plait/models/weight_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plait/base/error.h"
#include "plait/gguf/raw_file_for_test.h"

namespace plait::models {
namespace {

using ::testing::ThrowsMessage;

TEST(WeightTable, RefusesTypesPlaitHasNoFormatForOnceTheyAreAskedFor) {
    const gguf::test::RawFile raw = gguf::test::RawFile()
                                        .header(2, 0)
                                        .tensor({.name = "known"})
                                        .tensor({.name = "strange", .type = 4, .offset = 32})
                                        .data(96);
    const gguf::File file = gguf::File::parse(raw.bytes(), "m.gguf");
    WeightTable table(file, "llama");
    table.require("known", {8}, ir::Role::replicated);
    const auto ask = [&] { table.optional("strange", {8}, ir::Role::replicated); };
    EXPECT_THAT(ask, ThrowsMessage<Error>("m.gguf: tensor 'strange': its type is Q4_2 (number 4), which was "
                                          "given up in 2023; download or quantise the model as Q4_0"));
}

}  // namespace
}  // namespace plait::models
