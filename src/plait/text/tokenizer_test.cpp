#include "plait/text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <random>
#include <thread>

#include "plait/base/error.h"
#include "plait/text/small_vocabulary.h"

namespace plait::text {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

const SmallVocabulary& small() { return small_vocabulary(); }

std::string test_name(const testing::TestParamInfo<std::string>& info) {
    std::string name = info.param;
    std::erase_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); });
    return name;
}

// What an independent tokenizer makes of some texts.
class AgreesWithOthers : public testing::TestWithParam<std::string> {
  protected:
    // The number of cases.
    int check(const SmallVocabulary& vocabulary, bool reversible) const {
        const Tokenizer tokenizer(vocabulary.spec(GetParam()));
        int cases = 0;
        for (const SmallVocabulary::Case& c : vocabulary.cases) {
            if (c.variant != GetParam()) continue;
            const auto ids = tokenizer.encode(c.text, {.parse_special = c.parse_special});
            EXPECT_EQ(ids, c.ids) << testing::PrintToString(c.text);
            if (reversible) {
                EXPECT_EQ(tokenizer.decode(ids, {.special = true}), c.text);
            }
            ++cases;
        }
        return cases;
    }
};

class ByteLevelAgreesWithOthers : public AgreesWithOthers {};

TEST_P(ByteLevelAgreesWithOthers, OnEveryText) { EXPECT_GE(check(small(), true), 50); }

INSTANTIATE_TEST_SUITE_P(Rules, ByteLevelAgreesWithOthers, testing::ValuesIn(small_vocabulary().variants()),
                         test_name);

class SentencePieceAgreesWithOthers : public AgreesWithOthers {};

TEST_P(SentencePieceAgreesWithOthers, OnEveryText) { EXPECT_GE(check(small_sentencepiece(), false), 50); }

INSTANTIATE_TEST_SUITE_P(Variants, SentencePieceAgreesWithOthers,
                         testing::ValuesIn(small_sentencepiece().variants()), test_name);

TEST(Tokenizer, Empty) {
    const Tokenizer tokenizer(small().spec("gpt-2"));
    EXPECT_THAT(tokenizer.encode(""), IsEmpty());
    EXPECT_EQ(tokenizer.decode({}), "");
}

TEST(Tokenizer, BeginAndEndTokens) {
    const Tokenizer tokenizer(small().spec("gpt-2"));
    const int32_t end = small().id("<|endoftext|>"), a = small().id("a");
    EXPECT_THAT(tokenizer.encode("a", {.add_bos = true}), ElementsAre(end, a));
    EXPECT_THAT(tokenizer.encode("a", {.add_bos = true, .add_eos = true}), ElementsAre(end, a, end));
    EXPECT_THAT(tokenizer.encode("", {.add_bos = true}), ElementsAre(end));
    EXPECT_THAT(tokenizer.end_of_generation(), ElementsAre(end, small().id("<|im_end|>")));
}

TEST(Tokenizer, WhetherItAddsThem) {
    const auto adds = [](VocabSpec spec) {
        const Tokenizer tokenizer(spec);
        return std::pair(tokenizer.adds_bos(), tokenizer.adds_eos());
    };
    VocabSpec spec = small().spec("gpt-2");
    EXPECT_EQ(adds(spec), std::pair(false, false));
    spec.add_bos = spec.add_eos = true;
    EXPECT_EQ(adds(spec), std::pair(true, true));
    spec.ids = {};
    EXPECT_EQ(adds(spec), std::pair(false, false));
    spec = small().spec("llama-bpe");
    EXPECT_EQ(adds(spec), std::pair(true, false));
    spec.add_bos = false;
    EXPECT_EQ(adds(spec), std::pair(false, false));
}

TEST(Tokenizer, SentencePieceAddsABeginTokenUnlessToldNotTo) {
    VocabSpec spec = small_sentencepiece().spec("prefix");
    EXPECT_TRUE(Tokenizer(spec).adds_bos());
    EXPECT_FALSE(Tokenizer(spec).adds_eos());
    spec.add_bos = false;
    EXPECT_FALSE(Tokenizer(spec).adds_bos());
    // A file that wants a begin token and has none gets none.
    spec.add_bos = true;
    spec.ids.bos = std::nullopt;
    spec.token_types[1] = static_cast<int32_t>(TokenType::Normal);
    EXPECT_FALSE(Tokenizer(spec).adds_bos());
}

TEST(Tokenizer, SpaceBeforeASentencePieceText) {
    const SmallVocabulary& pieces = small_sentencepiece();
    const int32_t begin = pieces.id("<s>"), end = pieces.id("<|im_end|>"), the = pieces.id("\u2581the"),
                  space = pieces.id("\u2581");
    const Tokenizer tokenizer(pieces.spec("prefix"));
    EXPECT_TRUE(tokenizer.adds_space_prefix());
    EXPECT_THAT(tokenizer.encode("the", {.add_bos = true}), ElementsAre(begin, the));
    EXPECT_THAT(tokenizer.encode("the<|im_end|>the", {.parse_special = true}), ElementsAre(the, end, the));
    const auto decode = [&](const std::vector<int32_t>& ids, DecodeOptions options = {.special = true}) {
        return tokenizer.decode(ids, options);
    };
    EXPECT_EQ(decode({the, the}), "the the");
    EXPECT_EQ(decode({begin, the, the}), "<s>the the");
    EXPECT_EQ(decode({begin, the}, {}), "the");
    EXPECT_EQ(decode({end, the}), "<|im_end|> the") << "only a begin token may come before";
    EXPECT_EQ(decode({space, space, the}), "  the") << "one space only";
    EXPECT_EQ(decode({the, the}, {.continues = true}), " the the");
    EXPECT_EQ(decode({pieces.id("<0x20>"), the}), " the");
    EXPECT_EQ(decode({}), "");
    EXPECT_EQ(tokenizer.piece(the), " the");
    const Tokenizer without(pieces.spec("no-prefix"));
    EXPECT_FALSE(without.adds_space_prefix());
    EXPECT_EQ(without.decode(std::vector<int32_t>{the}), " the");
    VocabSpec unset = pieces.spec("prefix");
    unset.add_space_prefix = std::nullopt;
    EXPECT_TRUE(Tokenizer(unset).adds_space_prefix());
    EXPECT_FALSE(Tokenizer(small().spec("gpt-2")).adds_space_prefix());
}

TEST(Tokenizer, SpecialTokensThatTakeWhiteSpace) {
    VocabSpec spec = small_sentencepiece().spec("prefix");
    spec.special_tokens_strip = true;
    const SmallVocabulary& pieces = small_sentencepiece();
    const int32_t the = pieces.id("\u2581the"), space = pieces.id("\u2581");
    const auto encode = [tokenizer = Tokenizer(spec)](std::string_view text) {
        return tokenizer.encode(text, {.parse_special = true});
    };
    EXPECT_THAT(encode("<|im_end|> \n\t the"), ElementsAre(pieces.id("<|im_end|>"), the));
    EXPECT_THAT(encode("<fold> the"), ElementsAre(pieces.id("<fold>"), the));
    EXPECT_THAT(encode("<s> the"), ElementsAre(pieces.id("<s>"), space, the)) << "it only begins a text";
}

TEST(Tokenizer, RefusesToAddWhatTheModelLacks) {
    VocabSpec spec = small().spec("gpt-2");
    spec.ids = {};
    const Tokenizer tokenizer(spec);
    EXPECT_THAT([&] { tokenizer.encode("a", {.add_bos = true}); },
                ThrowsMessage<Error>(HasSubstr("asked to add a begin (bos) token, but the model has none")));
    EXPECT_THAT([&] { tokenizer.encode("a", {.add_eos = true}); },
                ThrowsMessage<Error>(HasSubstr("an end (eos) token")));
}

TEST(Tokenizer, UnknownAlgorithmsAndPreTokenizers) {
    VocabSpec spec = small().spec("gpt-2");
    spec.model = "test";
    EXPECT_THAT([&] { Tokenizer{spec}; },
                ThrowsMessage<Error>(
                    "tokenizer.ggml.model: tokenizer model 'test' is unknown; known: gpt2 (byte-level BPE), "
                    "llama (SentencePiece BPE)"));
    EXPECT_THAT([] { Tokenizer{small().spec("nonesuch")}; },
                ThrowsMessage<Error>(HasSubstr("pre-tokenizer 'nonesuch' is unknown")));
}

TEST(Tokenizer, ByteLevelVocabulariesWithoutMergesAreRefused) {
    VocabSpec spec = small().spec("gpt-2");
    spec.merges.clear();
    EXPECT_THAT([&] { Tokenizer{spec}; }, ThrowsMessage<Error>(HasSubstr("tokenizer.ggml.merges: expected")));
}

TEST(Tokenizer, APreTokenizerIsReplacedOnlyWhereThereIsOne) {
    VocabSpec bytes = small().spec("gpt-2");
    override_pre_tokenizer(bytes, "llama-bpe");
    EXPECT_EQ(bytes.pre, "llama-bpe");
    VocabSpec pieces = small_sentencepiece().spec("prefix");
    EXPECT_THAT(
        [&] { override_pre_tokenizer(pieces, "llama-bpe"); },
        ThrowsMessage<Error>(AllOf(HasSubstr("llama (SentencePiece BPE)"), HasSubstr("'llama-bpe'"))));
}

TEST(Tokenizer, PiecesShowSpecialTokensDecodeHidesThem) {
    VocabSpec spec = small().spec("gpt-2");
    const int32_t a = small().id("a"), b = small().id("b"), end = small().id("<|im_end|>"),
                  fold = small().id("<fold>");
    spec.token_types[b] = static_cast<int32_t>(TokenType::Unused);
    const Tokenizer tokenizer(spec);
    const std::vector<int32_t> ids = {a, end, b, fold};
    EXPECT_EQ(tokenizer.decode(ids), "a<fold>");
    EXPECT_EQ(tokenizer.decode(ids, {.special = true}), "a<|im_end|>b<fold>");
    EXPECT_EQ(tokenizer.piece(end), "<|im_end|>");
    EXPECT_EQ(tokenizer.piece(small().id("\u0120the")), " the");
    EXPECT_THAT([&] { tokenizer.piece(tokenizer.size()); },
                ThrowsMessage<Error>(HasSubstr("does not exist")));
    EXPECT_THROW(tokenizer.decode(std::vector<int32_t>{-1}), Error);
}

TEST(Tokenizer, UnknownTokensAreParsedLikeControlOnes) {
    VocabSpec spec = small().spec("gpt-2");
    const int32_t token = small().id("<|im_start|>");
    spec.token_types[token] = static_cast<int32_t>(TokenType::Unknown);
    const Tokenizer tokenizer(spec);
    EXPECT_THAT(tokenizer.encode("<|im_start|>", {.parse_special = true}), ElementsAre(token));
    EXPECT_GT(tokenizer.encode("<|im_start|>").size(), 1u);
}

TEST(Tokenizer, BytesThatAreNoCharacterBecomeTheirTokens) {
    for (const std::string& rule : small().variants()) {
        const Tokenizer tokenizer(small().spec(rule));
        const auto ids = tokenizer.encode(" the\xFF\xC3 the");
        const int32_t the = small().id("\u0120the");
        EXPECT_THAT(ids, ElementsAre(the, small().id("\u00FF"), small().id("\u00C3"), the));
        EXPECT_EQ(tokenizer.decode(ids), " the\xFF\xC3 the");
    }
}

TEST(Tokenizer, RandomBytesComeBack) {
    std::mt19937 random(1);
    const auto spec = [](size_t rule) {
        return rule < pre_rules().size() ? small().spec(pre_rules()[rule].names.front())
                                         : small_sentencepiece().spec("no-prefix");
    };
    for (size_t rule = 0; rule <= pre_rules().size(); ++rule) {
        const Tokenizer tokenizer(spec(rule));
        for (int round = 0; round < 100; ++round) {
            std::string text(random() % 80, '\0');
            for (char& c : text) c = static_cast<char>(random());
            if (round % 3 == 0) text += "<|im_end|>";
            for (const bool parse_special : {false, true})
                EXPECT_EQ(tokenizer.decode(tokenizer.encode(text, {.parse_special = parse_special}),
                                           {.special = true}),
                          text);
        }
    }
}

TEST(Tokenizer, ManyThreadsShareOne) {
    const Tokenizer tokenizer(small().spec("llama-bpe"));
    const std::string text = "the three strands hold together<|im_end|> \u00FCber 1234";
    const auto expected = tokenizer.encode(text, {.parse_special = true});
    std::vector<std::thread> threads;
    std::vector<int> wrong(4, 0);
    for (int& count : wrong)
        threads.emplace_back([&] {
            for (int round = 0; round < 200; ++round)
                count += tokenizer.encode(text, {.parse_special = true}) != expected;
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_THAT(wrong, testing::Each(0));
}

}  // namespace
}  // namespace plait::text
