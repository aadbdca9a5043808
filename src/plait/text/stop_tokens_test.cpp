#include "plait/text/stop_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plait::text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(StopTokens, NamedOnesAndKnownTexts) {
    const Vocabulary vocabulary(VocabSpec{
        .tokens = {"a", "</s>", "<|im_end|>", "<|im_start|>", "<|eot_id|>", "b", "c"},
        .token_types = {1, 1, 3, 3, 4, 1, 1},
        .ids = {.bos = 3, .eos = 6, .eot = 2, .eom = 5},
    });
    EXPECT_THAT(stop_tokens(vocabulary), ElementsAre(1, 2, 4, 5, 6));
}

TEST(StopTokens, None) { EXPECT_THAT(stop_tokens(Vocabulary(VocabSpec{.tokens = {"a"}})), IsEmpty()); }

TEST(StopTokens, OfSentencePieceVocabularies) {
    const VocabSpec gemma{
        .tokens = {"<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>", "a"},
        .token_types = {3, 3, 3, 2, 3, 4, 1},
        .ids = {.bos = 2, .eos = 1}};
    EXPECT_THAT(stop_tokens(Vocabulary(gemma, Spelling::SentencePiece)), ElementsAre(1, 5));
    const VocabSpec llama{.tokens = {"<unk>", "<s>", "</s>", "a"}, .token_types = {2, 3, 3, 1}};
    EXPECT_THAT(stop_tokens(Vocabulary(llama, Spelling::SentencePiece)), ElementsAre(2));
}

TEST(StopTokens, EndOfAMessageIsNotTheEndOfATurnInHarmony) {
    const Vocabulary phi(VocabSpec{.tokens = {"<|end|>", "<|call|>"}, .token_types = {3, 3}});
    EXPECT_THAT(stop_tokens(phi), ElementsAre(0, 1));
    const Vocabulary harmony(
        VocabSpec{.tokens = {"<|end|>", "<|call|>", "<|return|>"}, .token_types = {3, 3, 3}});
    EXPECT_THAT(stop_tokens(harmony), ElementsAre(1, 2));
    const Vocabulary solar(
        VocabSpec{.tokens = {"<|end|>", "<|flush|>", "<|calls|>"}, .token_types = {3, 3, 3}});
    EXPECT_THAT(stop_tokens(solar), ElementsAre(1, 2));
}

}  // namespace
}  // namespace plait::text
