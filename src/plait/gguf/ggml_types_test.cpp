#include "plait/gguf/ggml_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plait/dtype/dtype.h"

namespace plait::gguf {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(GgmlTypes, AgreeWithTheFormatsPlaitHas) {
    for (const dtype::DTypeInfo& format : dtype::table()) EXPECT_EQ(type_name(format.gguf_id), format.name);
}

TEST(GgmlTypes, NameTheNumbersThatHaveNoName) {
    for (const uint32_t id : {42u, 1000u, 0xffffffffu}) {
        EXPECT_EQ(type_name(id), "type " + std::to_string(id));
        EXPECT_THAT(unsupported_type(id),
                    HasSubstr("its type is number " + std::to_string(id) + ", which Plait"));
    }
}

TEST(GgmlTypes, SayThatATypeIsNotSupported) {
    EXPECT_EQ(unsupported_type(27), "its type is I64 (number 27), which Plait does not support");
}

TEST(GgmlTypes, AdviseOnTypesThatWereGivenUp) {
    const struct {
        uint32_t id;
        const char* name;
        const char* instead;
    } kCases[] = {{4, "Q4_2", "Q4_0"},          {5, "Q4_3", "Q4_1"},         {31, "Q4_0_4_4", "Q4_0"},
                  {32, "Q4_0_4_8", "Q4_0"},     {33, "Q4_0_8_8", "Q4_0"},    {36, "IQ4_NL_4_4", "IQ4_NL"},
                  {37, "IQ4_NL_4_8", "IQ4_NL"}, {38, "IQ4_NL_8_8", "IQ4_NL"}};
    for (const auto& [id, name, instead] : kCases) {
        EXPECT_EQ(type_name(id), name);
        EXPECT_THAT(
            unsupported_type(id),
            AllOf(HasSubstr(std::string("its type is ") + name + " (number " + std::to_string(id) + ")"),
                  HasSubstr(std::string("download or quantise the model as ") + instead)));
    }
    EXPECT_THAT(unsupported_type(31), HasSubstr("Plait arranges Q4_0 itself while loading"));
}

}  // namespace
}  // namespace plait::gguf
