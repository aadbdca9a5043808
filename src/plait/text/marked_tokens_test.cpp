#include "plait/text/marked_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "plait/base/error.h"

namespace plait::text {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::string found(const MarkedTokens& tokens, std::string_view text) {
    std::string all;
    size_t at = 0;
    while (const auto match = tokens.find(text, at)) {
        all += std::to_string(match->id) + "@" + std::to_string(match->start) + "-" +
               std::to_string(match->end) + " ";
        at = match->end;
    }
    return all;
}

TEST(MarkedTokens, LeftmostThenLongest) {
    const MarkedTokens tokens({{"ab", 1}, {"abcd", 2}, {"bcdef", 3}, {"c", 4}});
    EXPECT_EQ(found(tokens, "abcdef"), "2@0-4 ");
    EXPECT_EQ(found(tokens, "abcx"), "1@0-2 4@2-3 ");
    EXPECT_EQ(found(tokens, "xbcdefab"), "3@1-6 1@6-8 ");
    EXPECT_EQ(found(tokens, "abab"), "1@0-2 1@2-4 ");
    EXPECT_EQ(found(tokens, "a"), "");
    EXPECT_EQ(found(tokens, ""), "");
}

TEST(MarkedTokens, NoneAndEmptyOnes) {
    EXPECT_EQ(found(MarkedTokens({}), "abc"), "");
    EXPECT_EQ(found(MarkedTokens({{"", 1}}), "abc"), "");
}

TEST(MarkedTokens, LastOfEqualTexts) {
    EXPECT_EQ(found(MarkedTokens({{"x", 5}, {"y", 2}, {"x", 7}}), "xy"), "7@0-1 2@1-2 ");
}

TEST(MarkedTokens, SomeTakeTheWhiteSpaceAfterThem) {
    const MarkedTokens tokens({{"<a>", 1, true}, {"<b>", 2}, {" <c>", 3}});
    EXPECT_EQ(found(tokens, "<a> \t\n\v\f\r <b> x"), "1@0-10 2@10-13 ");
    EXPECT_EQ(found(tokens, "<a>"), "1@0-3 ");
    EXPECT_EQ(found(tokens, "<a>  "), "1@0-5 ");
    EXPECT_EQ(found(tokens, "<a>\u00A0x"), "1@0-3 ");
    EXPECT_EQ(found(tokens, "<a> <c>"), "1@0-4 ") << "what is taken is gone";
}

TEST(MarkedTokens, AnyBytes) {
    EXPECT_EQ(found(MarkedTokens({{std::string_view("\0\xFF", 2), 1}, {"\xFF", 2}}),
                    std::string_view("\xFF\0\xFFz", 4)),
              "2@0-1 1@1-3 ");
}

TEST(MarkedTokens, RefusesVeryLongOnes) {
    const std::string longest(MarkedTokens::kLongest, 'x'), longer(MarkedTokens::kLongest + 1, 'x');
    EXPECT_EQ(found(MarkedTokens({{longest, 1}}), longer), "1@0-1024 ");
    EXPECT_THAT(
        [&] {
            MarkedTokens({{longer, 12}});
        },
        ThrowsMessage<Error>(HasSubstr("special token 12 ('xxx")));
}

TEST(MarkedTokens, AgreesWithTryingThemAll) {
    std::mt19937 random(3);
    const auto word = [&](size_t longest) {
        std::string text(random() % longest, 'a');
        for (char& c : text) c = static_cast<char>('a' + random() % 2);
        return text;
    };
    int matches = 0;
    for (int round = 0; round < 200; ++round) {
        std::vector<std::string> texts;
        for (int i = 0; i < 8; ++i) texts.push_back(word(7));
        std::vector<MarkedTokens::Token> tokens;
        for (const std::string& text : texts) tokens.push_back({text, static_cast<int32_t>(tokens.size())});
        const MarkedTokens finder(tokens);
        const std::string text = word(40);
        for (size_t start = 0; start < text.size(); ++start) {
            size_t longest = 0;
            for (const std::string& t : texts)
                if (text.compare(start, t.size(), t) == 0) longest = std::max(longest, t.size());
            const auto match = finder.find(text, start);
            const bool here = match && match->start == start;
            ASSERT_EQ(here ? match->end - start : 0, longest) << text << " at " << start;
            matches += here;
        }
    }
    EXPECT_GT(matches, 500);
}

}  // namespace
}  // namespace plait::text
