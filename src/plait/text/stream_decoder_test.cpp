#include "plait/text/stream_decoder.h"

#include <gtest/gtest.h>

#include <random>

#include "plait/base/error.h"
#include "plait/base/utf8.h"
#include "plait/text/small_vocabulary.h"

namespace plait::text {
namespace {

class StreamDecoderTest : public testing::Test {
  protected:
    std::vector<int32_t> bytes(std::string_view text) const {
        std::vector<int32_t> ids;
        for (const char& c : text) ids.push_back(tokenizer_.encode({&c, 1}).at(0));
        return ids;
    }
    Tokenizer tokenizer_{small_vocabulary().spec("gpt-2")};
};

TEST_F(StreamDecoderTest, HoldsBackUntilTheCharacterIsWhole) {
    StreamDecoder decoder(tokenizer_);
    const auto ids = bytes("\u20AC");
    EXPECT_EQ(decoder.push(ids[0]), "");
    EXPECT_EQ(decoder.push(ids[1]), "");
    EXPECT_EQ(decoder.push(ids[2]), "\u20AC");
    EXPECT_EQ(decoder.finish(), "");
}

TEST_F(StreamDecoderTest, WhatNeverBecomesACharacterIsReplaced) {
    StreamDecoder decoder(tokenizer_);
    const auto ids = bytes("\xE2\x82z\xFF");
    EXPECT_EQ(decoder.push(ids[0]), "");
    EXPECT_EQ(decoder.push(ids[1]), "");
    EXPECT_EQ(decoder.push(ids[2]), "\uFFFDz");
    EXPECT_EQ(decoder.push(ids[3]), "\uFFFD");
    EXPECT_EQ(decoder.push(ids[0]), "");
    EXPECT_EQ(decoder.finish(), "\uFFFD");
    EXPECT_EQ(decoder.push(ids[2]), "z") << "ready for another text";
    EXPECT_EQ(decoder.finish(), "");
}

TEST_F(StreamDecoderTest, SpecialTokensShowOnRequest) {
    const int32_t end = small_vocabulary().id("<|im_end|>");
    EXPECT_EQ(StreamDecoder(tokenizer_).push(end), "");
    EXPECT_EQ(StreamDecoder(tokenizer_, {.special = true}).push(end), "<|im_end|>");
    EXPECT_EQ(StreamDecoder(tokenizer_).push(small_vocabulary().id("<fold>")), "<fold>");
}

TEST_F(StreamDecoderTest, RefusesUnknownIdsAndGoesOn) {
    StreamDecoder decoder(tokenizer_);
    EXPECT_THROW(decoder.push(tokenizer_.size()), Error);
    EXPECT_EQ(decoder.push(bytes("a")[0]), "a");
}

TEST(StreamDecoderOfSentencePiece, GoesOnFromAPrompt) {
    const SmallVocabulary& small = small_sentencepiece();
    const Tokenizer tokenizer(small.spec("prefix"));
    StreamDecoder decoder(tokenizer);
    EXPECT_EQ(decoder.push(small.id("\u2581the")), " the") << "the space is between prompt and answer";
    EXPECT_EQ(decoder.push(small.id("<0xE2>")), "");
    EXPECT_EQ(decoder.push(small.id("<0x82>")), "");
    EXPECT_EQ(decoder.push(small.id("<0xAC>")), "\u20AC");
    EXPECT_EQ(decoder.push(small.id("<|im_end|>")), "");
    EXPECT_EQ(decoder.push(small.id("<0xE2>")), "");
    EXPECT_EQ(decoder.finish(), "\uFFFD");
}

// Any ids at all: together the output is decode()'s, and each part of it is UTF-8.
TEST_F(StreamDecoderTest, TogetherIsDecode) {
    std::mt19937 random(5);
    int held_back = 0;
    for (int round = 0; round < 300; ++round) {
        std::vector<int32_t> ids;
        for (uint32_t n = random() % 40; n > 0; --n)
            ids.push_back(static_cast<int32_t>(random() % tokenizer_.size()));
        StreamDecoder decoder(tokenizer_);
        std::string streamed;
        for (const int32_t id : ids) {
            const std::string part = decoder.push(id);
            EXPECT_EQ(valid_prefix(part), part.size());
            held_back += part.empty();
            streamed += part;
        }
        streamed += decoder.finish();
        std::string whole = tokenizer_.decode(ids);
        std::string expected = take_characters(whole);
        if (!whole.empty()) expected += kReplacementCharacter;
        EXPECT_EQ(streamed, expected);
    }
    EXPECT_GT(held_back, 100);
}

}  // namespace
}  // namespace plait::text
