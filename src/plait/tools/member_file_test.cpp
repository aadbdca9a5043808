#include "plait/tools/member_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plait/base/error.h"

namespace plait::tools {
namespace {

using testing::HasSubstr;

std::string refusal_of(const std::string& json) {
    try {
        parse_members(json, "m.json");
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

TEST(MemberFile, SaysWhatIsNotGiven) {
    const auto members =
        parse_members(R"([{"kind":"cpu","memory_bytes":4096},{"kind":"sim","memory_bytes":"2G"}])", "m");
    ASSERT_EQ(members.size(), 2u);
    EXPECT_EQ(members[0].name, "cpu0");
    EXPECT_EQ(members[0].memory, "host");
    EXPECT_EQ(members[0].memory_bytes, 4096);
    EXPECT_EQ(members[0].threads, 1);
    EXPECT_EQ(members[1].name, "sim1");
    EXPECT_EQ(members[1].memory, "sim1");
    EXPECT_EQ(members[1].memory_bytes, int64_t{2} << 30);
}

TEST(MemberFile, AnyKindCanBeLikeAKnownOne) {
    const auto members = parse_members(
        R"([{"kind":"cuda","like":"sim","name":"gpu","memory":"hbm","memory_bytes":1,"threads":7}])", "m");
    EXPECT_EQ(members[0].kind, "cuda");
    EXPECT_EQ(members[0].like, "sim");
    EXPECT_EQ(members[0].name, "gpu");
    EXPECT_EQ(members[0].memory, "hbm");
    EXPECT_EQ(members[0].threads, 7);
}

TEST(MemberFile, TakesWhatTheDevicesCommandPrints) {
    const auto members = parse_members(
        R"({"devices":[{"device":"cpu","kind":"cpu","details":"x","memory":"host","memory_bytes":9,"threads":2}],"simd":"y"})",
        "m");
    EXPECT_EQ(members[0].name, "cpu");
    EXPECT_EQ(members[0].threads, 2);
}

TEST(MemberFile, RefusesTheRestWithASentence) {
    const std::pair<const char*, const char*> cases[] = {
        {"", "m.json: expected JSON, found something else at byte 1"},
        {"[{]", "m.json: expected JSON"},
        {"7", "m.json: expected a list of devices, found '7'"},
        {"{}", "expected a list of devices"},
        {"{\"devices\":1}", "expected a list of devices"},
        {"[]", "expected 1 to 256 devices, found 0"},
        {"[1]", "m.json: member 0: expected an object"},
        {"[{}]", "member 0: kind is missing; known are cpu, sim"},
        {R"([{"kind":"cpu"}])", "memory_bytes is missing"},
        {R"([{"kind":"cuda","memory_bytes":1}])", "the kind 'cuda' is not known; known are cpu, sim"},
        {R"([{"kind":"cuda","like":"x","memory_bytes":1}])", "the kind 'x' is not known"},
        {R"([{"kind":3,"memory_bytes":1}])", "kind must be a text, found '3'"},
        {R"([{"kind":"cpu","memory_bytes":1,"name":""}])", "name must be a text"},
        {R"([{"kind":"cpu","memory_bytes":0}])", "memory_bytes must be a whole number from 1 to"},
        {R"([{"kind":"cpu","memory_bytes":-1}])", "memory_bytes must be a whole number"},
        {R"([{"kind":"cpu","memory_bytes":1.5}])", "memory_bytes must be a whole number"},
        {R"([{"kind":"cpu","memory_bytes":99999999999999999999}])", "memory_bytes must be a whole number"},
        {R"([{"kind":"cpu","memory_bytes":"much"}])", "memory_bytes: \"much\" is no size"},
        {R"([{"kind":"cpu","memory_bytes":1,"threads":0}])", "threads must be a whole number from 1 to 1024"},
        {R"([{"kind":"cpu","memory_bytes":1,"threads":1025}])", "threads must be"},
        {R"([{"kind":"cpu","memory_byte":1}])", "the key 'memory_byte' is not known"},
        {R"([{"kind":"cpu","memory_bytes":1,"name":"a"},{"kind":"cpu","memory_bytes":1,"name":"a"}])",
         "members 0 and 1 have the same name, 'a'"},
        {R"([{"kind":"cpu","memory_bytes":1},{"kind":"cpu","memory_bytes":2}])",
         "members 0 and 1 have the memory 'host' together, of 1 bytes and of 2"},
        {R"([{"kind":"cpu","memory_bytes":1,"name":"a\n\u001b[0m"}])", "no control characters"},
        {"[[[[[[[[[[1]]]]]]]]]]", "more than 8 levels of lists and objects"},
    };
    for (const auto& [json, says] : cases) EXPECT_THAT(refusal_of(json), HasSubstr(says)) << json;
}

TEST(MemberFile, RefusesWhatWouldExhaustTheStack) {
    for (const char* begin : {"[", "[{\"kind\":[", "{\"devices\":["}) {
        std::string text = begin + std::string(100'000, '[') + std::string(100'000, ']');
        EXPECT_THAT(refusal_of(text), HasSubstr("levels")) << begin;
    }
}

TEST(MemberFile, RefusesMoreThanThereCanBe) {
    std::string list;
    for (int i = 0; i < 257; ++i)
        list += std::string(i == 0 ? "" : ",") + R"({"kind":"sim","memory_bytes":1})";
    EXPECT_THAT(refusal_of("[" + list + "]"), HasSubstr("expected 1 to 256 devices, found 257"));
}

}  // namespace
}  // namespace plait::tools
