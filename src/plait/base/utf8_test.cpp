#include "plait/base/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace plait {
namespace {

using Kind = Utf8Sequence::Kind;

struct SequenceCase {
    std::string_view text;
    Kind kind;
    size_t bytes;
};

TEST(Utf8, FirstSequence) {
    const std::vector<SequenceCase> cases = {
        {"a", Kind::Complete, 1},
        {{"\0", 1}, Kind::Complete, 1},
        {"\xC3\xA9x", Kind::Complete, 2},
        {"\xE0\xA0\x80", Kind::Complete, 3},
        {"\xED\x9F\xBF", Kind::Complete, 3},
        {"\xEE\x80\x80", Kind::Complete, 3},
        {"\xF0\x90\x80\x80", Kind::Complete, 4},
        {"\xF4\x8F\xBF\xBF", Kind::Complete, 4},
        {"\xC3", Kind::Truncated, 1},
        {"\xE2\x82", Kind::Truncated, 2},
        {"\xF0\x9F\x9A", Kind::Truncated, 3},
        {"\x80", Kind::Invalid, 1},      // a continuation alone
        {"\xC0\x80", Kind::Invalid, 1},  // overlong
        {"\xC1\xBF", Kind::Invalid, 1},
        {"\xE0\x9F\xBF", Kind::Invalid, 1},  // overlong
        {"\xED\xA0\x80", Kind::Invalid, 1},  // surrogate
        {"\xF0\x8F\xBF\xBF", Kind::Invalid, 1},
        {"\xF4\x90\x80\x80", Kind::Invalid, 1},  // above U+10FFFF
        {"\xF5\x80\x80\x80", Kind::Invalid, 1},
        {"\xFF", Kind::Invalid, 1},
        {"\xE2\x82x", Kind::Invalid, 2},
        {"\xF0\x9F\x9Ax", Kind::Invalid, 3},
        {"\xC3\xC3\xA9", Kind::Invalid, 1},
    };
    for (const SequenceCase& c : cases) {
        const Utf8Sequence found = first_sequence(c.text);
        EXPECT_EQ(found.kind, c.kind) << testing::PrintToString(c.text);
        EXPECT_EQ(found.bytes, c.bytes) << testing::PrintToString(c.text);
    }
}

TEST(Utf8, ValidPrefix) {
    EXPECT_EQ(valid_prefix(""), 0u);
    EXPECT_EQ(valid_prefix("\xFF"
                           "abc"),
              0u);
    EXPECT_EQ(valid_prefix("ab\xC3\xA9"), 4u);
    EXPECT_EQ(valid_prefix("ab\xC3"), 2u);
    EXPECT_EQ(valid_prefix("ab\x80z"), 2u);
}

TEST(Utf8, TakeCharactersHoldsBackTheIncomplete) {
    std::string pending = "ab\xE2\x82";
    EXPECT_EQ(take_characters(pending), "ab");
    EXPECT_EQ(pending, "\xE2\x82");
    pending += "\xAC!";
    EXPECT_EQ(take_characters(pending), "\xE2\x82\xAC!");
    EXPECT_EQ(pending, "");
    EXPECT_EQ(take_characters(pending), "");
}

// The example of the Unicode Standard, table 3-8.
TEST(Utf8, TakeCharactersReplacesMaximalSubparts) {
    std::string pending =
        "\x61\xF1\x80\x80\xE1\x80\xC2"
        "b\x80"
        "c\x80\xBF"
        "d";
    EXPECT_EQ(take_characters(pending), "a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd");
}

// Of all sequences of three bytes with a lead of E0..EF, just the characters are whole.
TEST(Utf8, AgreesWithTheDefinition) {
    size_t three_byte_characters = 0;
    for (uint32_t bytes = 0xE00000; bytes <= 0xEFFFFF; ++bytes) {
        const char text[] = {static_cast<char>(bytes >> 16), static_cast<char>(bytes >> 8),
                             static_cast<char>(bytes)};
        const Utf8Sequence found = first_sequence({text, 3});
        three_byte_characters += found.kind == Kind::Complete && found.bytes == 3;
    }
    EXPECT_EQ(three_byte_characters,
              0x10000u - 0x800u - 0x800u);  // less one- and two-byte ones, less surrogates
}

}  // namespace
}  // namespace plait
