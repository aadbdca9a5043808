#include "plait/text/vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "plait/base/error.h"

namespace plait::text {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

VocabSpec spec() {
    return {.model = "gpt2",
            .tokens = {"a", "b", "\u0120a", "<x>", "w x", "\u0120"},
            .token_types = {1, 1, 1, 3, 1, 4}};
}

TEST(Vocabulary, DecodesTheByteAlphabetOfNormalTokensOnly) {
    const Vocabulary vocabulary(spec());
    EXPECT_EQ(vocabulary.size(), 6);
    EXPECT_EQ(vocabulary.bytes(2), " a");
    EXPECT_EQ(vocabulary.bytes(3), "<x>");
    EXPECT_EQ(vocabulary.bytes(4), "w x") << "outside the alphabet: as written";
    EXPECT_EQ(vocabulary.bytes(5), "\u0120") << "user-defined: as written";
    EXPECT_EQ(vocabulary.type(3), TokenType::Control);
}

TEST(Vocabulary, FindsWhatTheAlphabetSpells) {
    const Vocabulary vocabulary(spec());
    EXPECT_EQ(vocabulary.find(" a"), 2);
    EXPECT_EQ(vocabulary.find("<x>"), std::nullopt);
    EXPECT_EQ(vocabulary.find("w x"), std::nullopt);
    EXPECT_EQ(vocabulary.find(""), std::nullopt);
}

TEST(Vocabulary, LastOfEqualTokensIsFoundAndAllDecode) {
    const Vocabulary vocabulary(VocabSpec{.tokens = {"a", "b", "a", ""}});
    EXPECT_EQ(vocabulary.find("a"), 2);
    EXPECT_EQ(vocabulary.bytes(0), "a");
    EXPECT_EQ(vocabulary.bytes(3), "");
}

TEST(Vocabulary, TurnEndsAreControlTokensWhateverTheFileSays) {
    const Vocabulary vocabulary(VocabSpec{.tokens = {"</s>", "<s>", "<|im_end|>"}, .token_types = {1, 1, 4}});
    EXPECT_EQ(vocabulary.type(0), TokenType::Control);
    EXPECT_EQ(vocabulary.find("</s>"), std::nullopt);
    EXPECT_EQ(vocabulary.type(1), TokenType::Normal);
    EXPECT_EQ(vocabulary.type(2), TokenType::Control);
}

TEST(Vocabulary, ViewsSurviveMoving) {
    Vocabulary first(VocabSpec{.tokens = {"a"}});
    const Vocabulary second(std::move(first));
    EXPECT_EQ(second.find("a"), 0);
    EXPECT_EQ(second.bytes(0), "a");
}

void expect_refused(const std::function<void(VocabSpec&)>& spoil, const char* sentence) {
    VocabSpec broken = spec();
    spoil(broken);
    EXPECT_THAT([&] { Vocabulary vocabulary(broken); }, ThrowsMessage<Error>(HasSubstr(sentence)));
}

TEST(Vocabulary, RefusesWhatDoesNotFit) {
    expect_refused([](VocabSpec& s) { s.tokens.clear(); }, "expected a list of tokens, found none");
    expect_refused([](VocabSpec& s) { s.token_types.pop_back(); },
                   "tokenizer.ggml.token_type: expected 6 numbers, one per token, found 5");
    expect_refused([](VocabSpec& s) { s.scores = {1.0F}; },
                   "tokenizer.ggml.scores: expected 6 numbers, one per token, found 1");
    expect_refused([](VocabSpec& s) { s.token_types[1] = 0; }, "token 1 has type 0, expected 1 to 6");
    expect_refused([](VocabSpec& s) { s.token_types[1] = 7; }, "token 1 has type 7");
    expect_refused([](VocabSpec& s) { s.token_types[1] = -1; }, "token 1 has type -1");
    expect_refused([](VocabSpec& s) { s.ids.bos = 6; },
                   "tokenizer.ggml.bos_token_id: the token is 6, but the vocabulary has 6 tokens");
    expect_refused([](VocabSpec& s) { s.ids.eos = -1; }, "tokenizer.ggml.eos_token_id: the token is -1");
    expect_refused([](VocabSpec& s) { s.ids.eot = 1 << 30; }, "tokenizer.ggml.eot_token_id");
    expect_refused([](VocabSpec& s) { s.ids.eom = 7; }, "tokenizer.ggml.eom_token_id");
    expect_refused([](VocabSpec& s) { s.ids.unknown = 7; },
                   "tokenizer.ggml.unknown_token_id: the token is 7");
}

TEST(Vocabulary, SentencePieceSpelling) {
    const Vocabulary vocabulary(VocabSpec{.tokens = {"<unk>", "<s>", "</s>", "<0x41>", "\u2581the", "a b",
                                                     "\u2581<tag>\u2581", "\u2581\u2581"},
                                          .token_types = {2, 3, 3, 6, 1, 1, 4, 5}},
                                Spelling::SentencePiece);
    EXPECT_EQ(vocabulary.bytes(1), "<s>");
    EXPECT_EQ(vocabulary.bytes(3), "A");
    EXPECT_EQ(vocabulary.bytes(4), " the");
    EXPECT_EQ(vocabulary.bytes(6), " <tag> ");
    EXPECT_EQ(vocabulary.find(" the"), 4);
    EXPECT_EQ(vocabulary.find("  "), 7);
    for (const char* never : {"<s>", "<unk>", "A", "a b", "\u2581the", ""})
        EXPECT_EQ(vocabulary.find(never), std::nullopt) << never;
}

TEST(Vocabulary, SentencePieceHasSpecialTokensByDefault) {
    const std::vector<std::string_view> tokens = {"<unk>", "<s>", "</s>", "a"};
    const auto ids = [&](const VocabSpec& s) { return Vocabulary(s, Spelling::SentencePiece).ids(); };
    const SpecialIds usual = ids({.tokens = tokens, .token_types = {2, 3, 3, 1}});
    EXPECT_EQ(usual.bos, 1);
    EXPECT_EQ(usual.eos, 2);
    EXPECT_EQ(usual.unknown, 0);
    const SpecialIds named =
        ids({.tokens = tokens, .token_types = {2, 3, 3, 1}, .ids = {.bos = 2, .eos = 3, .unknown = 1}});
    EXPECT_EQ(named.bos, 2);
    EXPECT_EQ(named.eos, 3);
    EXPECT_EQ(named.unknown, 1);
    const SpecialIds none = ids({.tokens = {"a", "b", "c"}, .token_types = {1, 1, 4}});
    EXPECT_EQ(none.bos, std::nullopt);
    EXPECT_EQ(none.eos, std::nullopt);
    EXPECT_EQ(none.unknown, std::nullopt);
    EXPECT_EQ(ids({.tokens = {"a"}}).bos, std::nullopt);
}

TEST(Vocabulary, RefusesIdsThatNameNothing) {
    const Vocabulary vocabulary(spec());
    EXPECT_THAT([&] { vocabulary.bytes(6); },
                ThrowsMessage<Error>(HasSubstr("token 6 does not exist: the vocabulary has 6 tokens")));
    EXPECT_THROW(vocabulary.bytes(-1), Error);
    EXPECT_THROW(vocabulary.type(6), Error);
}

}  // namespace
}  // namespace plait::text
