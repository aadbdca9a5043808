#include "plait/text/sentencepiece.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>

#include "plait/base/error.h"
#include "plait/text/small_vocabulary.h"

namespace plait::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

struct Piece {
    std::string text;
    float score = 0;
    TokenType type = TokenType::Normal;
};

// Views the pieces.
VocabSpec spec_of(std::vector<Piece>&&) = delete;
VocabSpec spec_of(const std::vector<Piece>& pieces) {
    VocabSpec spec;
    for (const Piece& piece : pieces) {
        spec.tokens.push_back(piece.text);
        spec.scores.push_back(piece.score);
        spec.token_types.push_back(static_cast<int32_t>(piece.type));
    }
    return spec;
}

struct Model {
    explicit Model(const VocabSpec& spec, bool space_prefix = false)
        : vocabulary(spec, Spelling::SentencePiece), algorithm(vocabulary, spec.scores, space_prefix) {}

    std::vector<int32_t> encode(std::string_view text) const {
        SentencePiece::Scratch scratch;
        std::vector<int32_t> ids;
        algorithm.append(vocabulary, text, scratch, ids);
        return ids;
    }

    Vocabulary vocabulary;
    SentencePiece algorithm;
};

Model model_of(const std::vector<Piece>& pieces, bool space_prefix = false) {
    return Model(spec_of(pieces), space_prefix);
}

TEST(SentencePiece, MergesByScoreThenLeftmost) {
    const Model model = model_of({{"a"}, {"b"}, {"c"}, {"ab", -2}, {"bc", -1}, {"aa", -3}});
    EXPECT_THAT(model.encode("abc"), ElementsAre(0, 4));
    EXPECT_THAT(model.encode("aaa"), ElementsAre(5, 0));
    EXPECT_THAT(model.encode("aab"), ElementsAre(0, 3));
    EXPECT_THAT(model.encode("a"), ElementsAre(0));
    EXPECT_THAT(model.encode(""), IsEmpty());
}

TEST(SentencePiece, EqualScoresMergeFromTheLeft) {
    const Model model = model_of({{"a"}, {"b"}, {"ab"}, {"ba"}});
    EXPECT_THAT(model.encode("aba"), ElementsAre(2, 0));
    EXPECT_THAT(model.encode("bab"), ElementsAre(3, 1));
}

TEST(SentencePiece, APairMayBeATokenThoughItsCharactersAreNone) {
    const Model model = model_of({{"xy"}, {"xyz"}});
    EXPECT_THAT(model.encode("xyz"), ElementsAre(1));
    EXPECT_THAT(model.encode("xyxz"), ElementsAre(0))
        << "without bytes and an unknown token, the rest is nothing";
}

TEST(SentencePiece, CharactersFallBackToBytesThenToTheUnknownToken) {
    const Model model = model_of({{"<unk>", 0, TokenType::Unknown},
                                  {"<0xE2>", 0, TokenType::Byte},
                                  {"<0x82>", 0, TokenType::Byte},
                                  {"<0xac>", 0, TokenType::Byte},
                                  {"a"}});
    EXPECT_THAT(model.encode("\u20ACa"), ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(model.encode("\u20AD\u20AEa!"), ElementsAre(0, 4, 0))
        << "all of a character's bytes or none, one for a run";
    EXPECT_THAT(model.encode("\xE2\x82"), ElementsAre(1, 2)) << "part of a character";
}

TEST(SentencePiece, SpacesAndBlocksAreOne) {
    const std::vector<Piece> pieces = {{"\u2581"}, {"\u2581\u2581", -1}, {"a"}, {"\u2581a", -2}};
    EXPECT_THAT(model_of(pieces).encode("a a\u2581a"), ElementsAre(2, 3, 3));
    EXPECT_THAT(model_of(pieces).encode("   a"), ElementsAre(1, 3));
    EXPECT_THAT(model_of(pieces, true).encode("a"), ElementsAre(3));
    EXPECT_THAT(model_of(pieces, true).encode("  a"), ElementsAre(1, 3));
    EXPECT_THAT(model_of(pieces, true).encode(" "), ElementsAre(1));
    EXPECT_THAT(model_of(pieces, true).encode(""), IsEmpty());
}

TEST(SentencePiece, TextNeverBecomesStructure) {
    const Model model = model_of(
        {{"<"}, {"/"}, {"<s", -1}, {"s"}, {">"}, {"<s>", 0, TokenType::Control}, {"< >"}, {"< ", -1}});
    EXPECT_THAT(model.encode("<s>"), ElementsAre(2, 4));
    EXPECT_THAT(model.encode("< >"), ElementsAre(0, 4))
        << "a token with a plain space is never found in text";
}

TEST(SentencePiece, UnusedTokensAreText) {
    EXPECT_THAT(model_of({{"a"}, {"b"}, {"ab", 0, TokenType::Unused}}).encode("ab"), ElementsAre(2));
}

TEST(SentencePiece, BytesAreFoundWhereNoTypesAreGiven) {
    const std::vector<Piece> pieces = {{"<0x41>"}, {"a"}};
    VocabSpec spec = spec_of(pieces);
    spec.token_types.clear();
    EXPECT_THAT(Model(spec).encode("aA"), ElementsAre(1, 0));
}

void expect_refused(const std::vector<Piece>& pieces, const char* sentence) {
    EXPECT_THAT([&] { model_of(pieces); }, ThrowsMessage<Error>(HasSubstr(sentence)));
}

TEST(SentencePiece, RefusesWhatDoesNotFit) {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    expect_refused({{"a"}, {"b", kNan}}, "tokenizer.ggml.scores: the score of token 1 is not a number");
    expect_refused({{"a"}, {"<0xZZ>", 0, TokenType::Byte}},
                   "expected a byte token to be written <0x00> to <0xFF>, found '<0xZZ>'");
    expect_refused({{"", 0, TokenType::Byte}}, "found ''");
    expect_refused({{std::string(SentencePiece::kLongest + 1, 'x')}},
                   "has 1025 bytes, expected at most 1024");
    const std::vector<Piece> pieces = {{"a"}, {"b"}};
    VocabSpec spec = spec_of(pieces);
    spec.scores.clear();
    EXPECT_THAT(
        [&] { Model{spec}; },
        ThrowsMessage<Error>(HasSubstr("tokenizer.ggml.scores: expected 2 numbers, one per token, found 0")));
}

TEST(SentencePiece, InfiniteScoresAreScores) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    EXPECT_THAT(model_of({{"a"}, {"ab", -kInfinity}, {"ba", kInfinity}}).encode("aba"), ElementsAre(0, 2));
}

// The definition, word for word: look at all pairs, merge the best, begin again. Of characters that have
// tokens.
std::vector<int32_t> merge_slowly(const Model& model, std::span<const float> scores,
                                  std::vector<std::string> symbols) {
    while (true) {
        size_t best = symbols.size();
        float best_score = 0;
        for (size_t at = 0; at + 1 < symbols.size(); ++at) {
            const auto id = model.vocabulary.find(symbols[at] + symbols[at + 1]);
            if (!id || (best != symbols.size() && scores[*id] <= best_score)) continue;
            best = at;
            best_score = scores[*id];
        }
        if (best == symbols.size()) break;
        symbols[best] += symbols[best + 1];
        symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
    std::vector<int32_t> ids;
    for (const std::string& symbol : symbols) ids.push_back(model.vocabulary.find(symbol).value());
    return ids;
}

TEST(SentencePiece, AgreesWithTheDefinitionOnRandomTexts) {
    const VocabSpec spec = small_sentencepiece().spec("no-prefix");
    const Model model(spec);
    std::mt19937 random(7);
    constexpr std::string_view kCharacters[] = {"s", "t", "r", "a", "n",      "d",      "h",
                                                "e", "o", "l", " ", "\u0442", "\u0440", "\u0435"};
    size_t merged = 0;
    for (int round = 0; round < 500; ++round) {
        std::vector<std::string> characters;
        std::string text;
        for (uint32_t n = random() % 40; n > 0; --n) {
            characters.emplace_back(kCharacters[random() % std::size(kCharacters)]);
            text += characters.back();
        }
        const auto ids = model.encode(text);
        EXPECT_EQ(ids, merge_slowly(model, spec.scores, characters)) << text;
        merged += characters.size() - ids.size();
    }
    EXPECT_GT(merged, 1000u) << "the texts hardly exercise merging";
}

}  // namespace
}  // namespace plait::text
