#include "plait/text/byte_alphabet.h"

#include <gtest/gtest.h>

#include <set>

namespace plait::text {
namespace {

std::string utf8(int code_point) {
    if (code_point < 0x80) return {static_cast<char>(code_point)};
    return {static_cast<char>(0xC0 | code_point >> 6), static_cast<char>(0x80 | (code_point & 0x3F))};
}

TEST(ByteAlphabet, KnownCharacters) {
    std::string bytes;
    EXPECT_TRUE(append_alphabet_bytes("\u0120the\u010A\u0109", bytes));  // space, line feed, tab
    EXPECT_EQ(bytes, " the\n\t");
    EXPECT_TRUE(append_alphabet_bytes("\u0100\u0143\u00FF", bytes));
    EXPECT_EQ(bytes, std::string(" the\n\t\0\xAD\xFF", 9));
}

TEST(ByteAlphabet, HasOneCharacterPerByte) {
    std::set<std::string> all;
    for (int code_point = 0; code_point < 0x800; ++code_point) {
        std::string bytes;
        if (append_alphabet_bytes(utf8(code_point), bytes)) {
            EXPECT_EQ(bytes.size(), 1u);
            all.insert(bytes);
        }
    }
    EXPECT_EQ(all.size(), 256u);
}

TEST(ByteAlphabet, RefusesOtherCharactersAndLeavesTheBytes) {
    for (const std::string_view text :
         {"a b", "ab\n", "\u00AD", "\u0144", "\u20AC", "\xC3", "\xC3z", "\x80", "\xFF"}) {
        std::string bytes = "kept";
        EXPECT_FALSE(append_alphabet_bytes(text, bytes)) << testing::PrintToString(text);
        EXPECT_EQ(bytes, "kept");
    }
}

TEST(ByteAlphabet, EmptyIsEmpty) {
    std::string bytes;
    EXPECT_TRUE(append_alphabet_bytes("", bytes));
    EXPECT_EQ(bytes, "");
}

}  // namespace
}  // namespace plait::text
