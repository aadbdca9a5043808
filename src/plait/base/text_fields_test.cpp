#include "plait/base/text_fields.h"

#include <gmock/gmock.h>

namespace plait {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(TextFields, SplitKeepsEmptyParts) {
    EXPECT_THAT(split("", ','), ElementsAre(""));
    EXPECT_THAT(split("a", ','), ElementsAre("a"));
    EXPECT_THAT(split(",a,,b,", ','), ElementsAre("", "a", "", "b", ""));
}

TEST(TextFields, WordsSkipBlanks) {
    EXPECT_THAT(words(""), IsEmpty());
    EXPECT_THAT(words(" \t\n"), IsEmpty());
    EXPECT_THAT(words("  one\ttwo \r\nthree"), ElementsAre("one", "two", "three"));
}

TEST(TextFields, TrimsBothEnds) {
    EXPECT_EQ(trim(""), "");
    EXPECT_EQ(trim(" \n"), "");
    EXPECT_EQ(trim(" a b\n"), "a b");
}

TEST(TextFields, NumbersAreTheWholeText) {
    EXPECT_EQ(parse_number<int>("-7"), -7);
    EXPECT_EQ(parse_number<uint64_t>("18446744073709551615"), 18446744073709551615ULL);
    for (const char* bad : {"", " 1", "1 ", "1x", "0x1", "18446744073709551616", "-1", "+1"})
        EXPECT_EQ(parse_number<uint64_t>(bad), std::nullopt) << bad;
}

TEST(TextFields, FindsALabelledNumber) {
    const char* text = "MemTotal:  100 kB\nMemTotalNot: 5\nFree: x\nBare:\n";
    EXPECT_EQ(labelled_number(text, "MemTotal:"), 100u);
    EXPECT_EQ(labelled_number(text, "MemTotalNot:"), 5u);
    EXPECT_EQ(labelled_number(text, "Free:"), std::nullopt);
    EXPECT_EQ(labelled_number(text, "Bare:"), std::nullopt);
    EXPECT_EQ(labelled_number("", "MemTotal:"), std::nullopt);
}

}  // namespace
}  // namespace plait
