#include "plait/base/quote.h"

#include <gtest/gtest.h>

#include <random>

namespace plait {
namespace {

TEST(Quote, LeavesPrintableTextAlone) {
    EXPECT_EQ(quote(""), "''");
    EXPECT_EQ(quote("a"), "'a'");
    EXPECT_EQ(quote("Ġthe größte 猫 🐈"), "'Ġthe größte 猫 🐈'");
}

TEST(Quote, EscapesControlCharacters) {
    EXPECT_EQ(quote("a\nb\x1b[31m\x7f"), "'a\\x0ab\\x1b[31m\\x7f'");
    EXPECT_EQ(quote(std::string_view("\0", 1)), "'\\x00'");
    EXPECT_EQ(quote("\xc2\x9b"), "'\\xc2\\x9b'");  // U+009B starts a terminal command
}

TEST(Quote, EscapesWhatIsNotUtf8) {
    EXPECT_EQ(quote("\xff"), "'\\xff'");
    EXPECT_EQ(quote("\xc3"), "'\\xc3'");                             // cut
    EXPECT_EQ(quote("\xc0\xaf"), "'\\xc0\\xaf'");                    // overlong
    EXPECT_EQ(quote("\xed\xa0\x80"), "'\\xed\\xa0\\x80'");           // surrogate
    EXPECT_EQ(quote("\xf4\x90\x80\x80"), "'\\xf4\\x90\\x80\\x80'");  // above U+10FFFF
    EXPECT_EQ(quote("\xe2\x28\xa1"), "'\\xe2(\\xa1'");               // wrong continuation
}

TEST(Quote, CutsLongText) {
    EXPECT_EQ(quote("abcdef", 3), "'abc...'");
    EXPECT_EQ(quote("abc", 3), "'abc'");
    EXPECT_LT(quote(std::string(1 << 20, 'x')).size(), 100u);
}

TEST(Quote, NeverLeavesAControlByte) {
    std::mt19937_64 random(7);
    for (int round = 0; round < 1000; ++round) {
        std::string text(random() % 40, '\0');
        for (char& c : text) c = static_cast<char>(random());
        for (const char c : quote(text)) EXPECT_TRUE(static_cast<uint8_t>(c) >= 0x20);
    }
}

}  // namespace
}  // namespace plait
