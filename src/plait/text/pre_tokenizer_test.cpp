#include "plait/text/pre_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>

#include "plait/base/error.h"
#include "plait/text/pre_rules.h"

namespace plait::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

std::vector<std::string_view> split(std::string_view rule, std::string_view text) {
    PreTokenizer::Scratch scratch;
    return PreTokenizer(find_pre_rule(rule)).split(text, scratch);
}

TEST(PreRules, UnknownNameSaysWhatToDo) {
    EXPECT_THAT(
        [] { find_pre_rule("nonesuch"); },
        ThrowsMessage<Error>(AllOf(HasSubstr("pre-tokenizer 'nonesuch' is unknown"), HasSubstr("--pre NAME"),
                                   HasSubstr("gpt-2, phi-2"), HasSubstr("llama-bpe"))));
}

TEST(PreRules, AbsentIsDefault) {
    EXPECT_EQ(&find_pre_rule(""), &find_pre_rule("default"));
    EXPECT_NE(&find_pre_rule(""), &find_pre_rule("gpt-2"));
    EXPECT_EQ(&find_pre_rule("llama3"), &find_pre_rule("llama-bpe"));
    EXPECT_EQ(&find_pre_rule("llama-v3"), &find_pre_rule("llama-bpe"));
}

TEST(PreRules, NoNameTwice) {
    std::set<std::string_view> names;
    for (const PreRule& rule : pre_rules())
        for (const std::string_view name : rule.names) EXPECT_TRUE(names.insert(name).second) << name;
}

// tests/golden/text/pre_rules.json: where an independent implementation cuts by the published patterns.
struct Cut {
    std::string rule;
    std::string text;
    std::vector<size_t> piece_bytes;
};

std::vector<Cut> expected_cuts() {
    std::ifstream file(PLAIT_SOURCE_DIR "/tests/golden/text/pre_rules.json");
    std::vector<Cut> cuts;
    for (const auto& line : nlohmann::json::parse(file))
        for (const auto& rule : line["rules"]) cuts.push_back({rule, line["text"], line["piece_bytes"]});
    return cuts;
}

TEST(PreTokenizer, CutsAsThePublishedPatternsDo) {
    std::map<std::string, int> compared;
    for (const Cut& cut : expected_cuts()) {
        std::vector<size_t> found;
        for (const std::string_view piece : split(cut.rule, cut.text)) found.push_back(piece.size());
        EXPECT_EQ(found, cut.piece_bytes) << cut.rule << ": " << testing::PrintToString(cut.text);
        ++compared[cut.rule];
    }
    for (const PreRule& rule : pre_rules())
        EXPECT_GE(compared[std::string(rule.names.front())], 40) << rule.names.front();
}

TEST(PreTokenizer, Gpt2) {
    EXPECT_THAT(split("gpt-2", "It's  2024,\n\nwe'LL!"),
                ElementsAre("It", "'s", " ", " 2024", ",", "\n", "\n", "we", "'", "LL", "!"));
    EXPECT_THAT(split("gpt-2", "a  "), ElementsAre("a", "  "));
    EXPECT_THAT(split("gpt-2", ""), IsEmpty());
}

TEST(PreTokenizer, SmolLmCutsDigitsFirst) {
    EXPECT_THAT(split("smollm", "in 2024  7"), ElementsAre("in", " ", "2", "0", "2", "4", "  ", "7"));
    EXPECT_THAT(split("smollm", "12"), ElementsAre("1", "2"));
}

TEST(PreTokenizer, Llama3AndQwen2) {
    EXPECT_THAT(split("llama-bpe", "We'LL (see) 1234567\n\n x"),
                ElementsAre("We", "'LL", " (", "see", ")", " ", "123", "456", "7", "\n\n", " x"));
    EXPECT_THAT(split("qwen2", "x12!\r\ny"), ElementsAre("x", "1", "2", "!\r\n", "y"));
}

TEST(PreTokenizer, WhiteSpaceIsUnicodes) {
    EXPECT_THAT(split("gpt-2", "a\u0085\u00A0b"), ElementsAre("a", "\u0085", "\u00A0", "b"));
    // U+180E is a format character since Unicode 6.3, so it goes with other signs.
    EXPECT_THAT(split("gpt-2", "!\u180E!"), ElementsAre("!\u180E!"));
}

TEST(PreTokenizer, BytesThatAreNoCharacterStandAlone) {
    EXPECT_THAT(split("gpt-2", "ab\xFF\xFE cd"), ElementsAre("ab", "\xFF", "\xFE", " cd"));
    EXPECT_THAT(split("gpt-2", "\xE2\x82"), ElementsAre("\xE2", "\x82"));
    EXPECT_THAT(split("smollm",
                      "1\x80"
                      "2"),
                ElementsAre("1", "\x80", "2"));
}

TEST(PreTokenizer, PiecesAreTheText) {
    std::mt19937 random(11);
    constexpr std::string_view kParts[] = {" ",      "\n",     "\r\n", "a",      "\u00E9",
                                           "7",      "'s",     "!",    "\xFF",   "\xE2\x82",
                                           "\u4E00", "\u3000", "A",    "\u0301", "123"};
    PreTokenizer::Scratch scratch;
    for (const PreRule& rule : pre_rules()) {
        const PreTokenizer pre_tokenizer(rule);
        for (int round = 0; round < 500; ++round) {
            std::string text, joined;
            for (uint32_t parts = random() % 20; parts > 0; --parts)
                text += kParts[random() % std::size(kParts)];
            for (const std::string_view piece : pre_tokenizer.split(text, scratch)) {
                EXPECT_FALSE(piece.empty());
                joined += piece;
            }
            EXPECT_EQ(joined, text);
        }
    }
}

TEST(PreTokenizer, StepsAreBounded) {
    const PreRule runaway{.names = {"runaway"}, .patterns = {"(?:a+)+[bc]"}};
    PreTokenizer::Scratch scratch;
    EXPECT_THAT(
        [&] { PreTokenizer(runaway).split(std::string(3000, 'a'), scratch); },
        ThrowsMessage<Error>(HasSubstr("cannot cut a text of 3000 bytes at byte 0: match limit exceeded")));
}

}  // namespace
}  // namespace plait::text
