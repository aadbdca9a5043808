#include "plait/text/sentencepiece_spelling.h"

#include <gtest/gtest.h>

namespace plait::text {
namespace {

std::string with_spaces(std::string_view text) {
    std::string bytes = "|";
    append_with_spaces(text, bytes);
    return bytes;
}

TEST(SentencePieceSpelling, BlocksBecomeSpaces) {
    EXPECT_EQ(with_spaces(""), "|");
    EXPECT_EQ(with_spaces("\u2581"), "| ");
    EXPECT_EQ(with_spaces("\u2581\u2581the\u2581"), "|  the ");
    EXPECT_EQ(with_spaces("a b\u2580\u2582"), "|a b\u2580\u2582");
    EXPECT_EQ(with_spaces("\xE2\x96"), "|\xE2\x96");
}

TEST(SentencePieceSpelling, Bytes) {
    EXPECT_EQ(spelled_byte("<0x00>"), '\0');
    EXPECT_EQ(spelled_byte("<0x0A>"), '\n');
    EXPECT_EQ(spelled_byte("<0xfF>"), '\xFF');
    for (const char* text : {"", "<0x>", "<0xA>", "<0xZZ>", "<0x0G>", "<0x-1>", "<0x+1>", "<0x 1>", "<0x000>",
                             "<0X00>", "(0x00>", "<0x00)", "<0x00"})
        EXPECT_EQ(spelled_byte(text), std::nullopt) << text;
}

}  // namespace
}  // namespace plait::text
