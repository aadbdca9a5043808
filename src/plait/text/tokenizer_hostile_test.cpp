#include <gtest/gtest.h>

#include <cctype>
#include <string>

#include "plait/text/hostile.h"
#include "plait/text/pre_tokenizer.h"
#include "plait/text/sentencepiece_spelling.h"
#include "plait/text/small_vocabulary.h"
#include "plait/text/tokenizer.h"

namespace plait::text {
namespace {

std::string test_name(std::string name) {
    std::erase_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); });
    return name;
}

class HostileTextPerRule : public testing::TestWithParam<PreRule> {};

TEST_P(HostileTextPerRule, IsCutInLessThanASecondWithLittleStack) {
    const PreTokenizer pre_tokenizer(GetParam());
    for (const auto& [name, text] : hostile_texts()) {
        size_t cut = 0;
        const double seconds = seconds_on_small_stack([&, &text = text] {
            PreTokenizer::Scratch scratch;
            for (const std::string_view piece : pre_tokenizer.split(text, scratch)) {
                ASSERT_EQ(piece.data(), text.data() + cut) << name;
                cut += piece.size();
            }
        });
        EXPECT_LT(seconds, kSecondsAllowed) << name;
        EXPECT_EQ(cut, text.size()) << name;
    }
}

INSTANTIATE_TEST_SUITE_P(Rules, HostileTextPerRule, testing::ValuesIn(pre_rules().begin(), pre_rules().end()),
                         [](const auto& rule) { return test_name(std::string(rule.param.names.front())); });

// The text of all bytes that come back: U+2581 comes back as a space from SentencePiece's tokens.
std::string with_spaces(std::string_view text) {
    std::string bytes;
    append_with_spaces(text, bytes);
    return bytes;
}

void expect_quick(const Tokenizer& tokenizer) {
    for (const auto& [name, text] : hostile_texts()) {
        std::string decoded;
        const double seconds = seconds_on_small_stack([&, &text = text] {
            const auto ids = tokenizer.encode(text, {.parse_special = true});
            decoded = tokenizer.decode(ids, {.special = true});
        });
        EXPECT_LT(seconds, kSecondsAllowed) << name;
        EXPECT_TRUE(with_spaces(decoded) == with_spaces(text)) << name;
    }
}

TEST(HostileText, TakesByteLevelLessThanASecondAndLittleStack) {
    for (const char* rule : {"gpt-2", "llama-bpe"}) expect_quick(Tokenizer(small_vocabulary().spec(rule)));
}

TEST(HostileText, TakesSentencePieceLessThanASecondAndLittleStack) {
    expect_quick(Tokenizer(small_sentencepiece().spec("no-prefix")));
}

// Vocabularies whose merges reach far.

TEST(HostileVocabulary, LongByteLevelTokens) {
    std::vector<std::string> tokens = {"a"}, merges;
    for (size_t size = 1; size < 4096; size *= 2) {
        merges.push_back(std::string(size, 'a') + ' ' + std::string(size, 'a'));
        tokens.emplace_back(2 * size, 'a');
    }
    const Tokenizer tokenizer(VocabSpec{.model = "gpt2",
                                        .pre = "gpt-2",
                                        .tokens = {tokens.begin(), tokens.end()},
                                        .merges = {merges.begin(), merges.end()}});
    std::vector<int32_t> ids;
    EXPECT_LT(seconds_on_small_stack([&] { ids = tokenizer.encode(repeated("a")); }), kSecondsAllowed);
    EXPECT_EQ(ids, std::vector<int32_t>(kHostileBytes / 4096, static_cast<int32_t>(tokens.size()) - 1));
}

// Every length up to the longest, and the longer the better: a token grows letter by letter.
TEST(HostileVocabulary, LongSentencePieceTokens) {
    std::vector<std::string> tokens;
    std::vector<float> scores;
    for (size_t size = 1; size <= SentencePiece::kLongest; ++size) {
        tokens.emplace_back(size, 'a');
        scores.push_back(static_cast<float>(size));
    }
    const Tokenizer tokenizer(VocabSpec{.model = "llama",
                                        .tokens = {tokens.begin(), tokens.end()},
                                        .scores = scores,
                                        .add_space_prefix = false});
    std::vector<int32_t> ids;
    EXPECT_LT(seconds_on_small_stack([&] { ids = tokenizer.encode(repeated("a")); }), kSecondsAllowed);
    EXPECT_EQ(ids,
              std::vector<int32_t>(kHostileBytes / SentencePiece::kLongest, SentencePiece::kLongest - 1));
}

TEST(HostileVocabulary, ManySpecialTokensWithOneBeginning) {
    std::vector<std::string> tokens;
    for (int i = 0; i < 50'000; ++i) tokens.push_back("<|reserved_special_token_" + std::to_string(i) + "|>");
    const Tokenizer tokenizer(VocabSpec{.model = "gpt2",
                                        .pre = "gpt-2",
                                        .tokens = {tokens.begin(), tokens.end()},
                                        .token_types = std::vector<int32_t>(tokens.size(), 3),
                                        .merges = {"a b"}});
    std::vector<int32_t> ids;
    EXPECT_LT(seconds_on_small_stack([&] {
                  ids = tokenizer.encode(repeated("<|reserved_special_token_"), {.parse_special = true});
              }),
              kSecondsAllowed);
    EXPECT_TRUE(ids.empty());
    EXPECT_EQ(tokenizer.encode(tokens[49'999], {.parse_special = true}), std::vector<int32_t>{49'999});
}

}  // namespace
}  // namespace plait::text
