#include "plait/text/vocab_from_gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "plait/base/error.h"
#include "plait/gguf/writer.h"
#include "plait/text/tokenizer.h"

namespace plait::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

// A file of metadata alone, in memory.
struct MetadataFile {
    explicit MetadataFile(const std::function<void(gguf::Writer&)>& fill) {
        gguf::Writer writer;
        fill(writer);
        writer.write(
            [this](std::span<const std::byte> part) { bytes.insert(bytes.end(), part.begin(), part.end()); });
    }
    gguf::File open() const { return gguf::File::parse(bytes, "test.gguf"); }
    std::vector<std::byte> bytes;
};

const std::vector<std::string> kTokens = {"a", "b", "ab", "<end>"};
const std::vector<std::string> kMerges = {"a b"};
const std::vector<int32_t> kTypes = {1, 1, 1, 3};
const std::vector<float> kScores = {0, -1, -2, -3};

TEST(VocabFromGguf, ReadsEveryKey) {
    const MetadataFile bytes([](gguf::Writer& writer) {
        writer.set("tokenizer.ggml.model", "gpt2");
        writer.set("tokenizer.ggml.pre", "smollm");
        writer.set_strings("tokenizer.ggml.tokens", kTokens);
        writer.set_strings("tokenizer.ggml.merges", kMerges);
        writer.set_array<int32_t>("tokenizer.ggml.token_type", kTypes);
        writer.set_array<float>("tokenizer.ggml.scores", kScores);
        writer.set("tokenizer.ggml.bos_token_id", uint32_t{0});
        writer.set("tokenizer.ggml.eos_token_id", uint32_t{1});
        writer.set("tokenizer.ggml.eot_token_id", uint32_t{2});
        writer.set("tokenizer.ggml.eom_token_id", uint32_t{3});
        writer.set("tokenizer.ggml.unknown_token_id", uint32_t{4});
        writer.set("tokenizer.ggml.padding_token_id", uint32_t{5});
        writer.set("tokenizer.ggml.add_bos_token", true);
        writer.set("tokenizer.ggml.add_eos_token", false);
        writer.set("tokenizer.ggml.add_space_prefix", true);
    });
    const gguf::File file = bytes.open();
    const VocabSpec spec = vocab_from_gguf(file);
    EXPECT_EQ(spec.model, "gpt2");
    EXPECT_EQ(spec.pre, "smollm");
    EXPECT_THAT(spec.tokens, ElementsAre("a", "b", "ab", "<end>"));
    EXPECT_THAT(spec.merges, ElementsAre("a b"));
    EXPECT_EQ(spec.token_types, kTypes);
    EXPECT_EQ(spec.scores, kScores);
    EXPECT_EQ(spec.ids.bos, 0);
    EXPECT_EQ(spec.ids.eos, 1);
    EXPECT_EQ(spec.ids.eot, 2);
    EXPECT_EQ(spec.ids.eom, 3);
    EXPECT_EQ(spec.ids.unknown, 4);
    EXPECT_EQ(spec.add_bos, true);
    EXPECT_EQ(spec.add_eos, false);
    EXPECT_EQ(spec.add_space_prefix, true);
}

TEST(VocabFromGguf, OnlyTheModelMustBeThere) {
    const MetadataFile bytes([](gguf::Writer& writer) { writer.set("tokenizer.ggml.model", "test"); });
    const gguf::File file = bytes.open();
    const VocabSpec spec = vocab_from_gguf(file);
    EXPECT_EQ(spec.model, "test");
    EXPECT_EQ(spec.pre, "");
    EXPECT_THAT(spec.tokens, IsEmpty());
    EXPECT_EQ(spec.ids.bos, std::nullopt);
    EXPECT_EQ(spec.add_bos, std::nullopt);
    EXPECT_THAT([&] { Tokenizer{spec}; },
                ThrowsMessage<Error>(HasSubstr("tokenizer model 'test' is unknown")));
}

TEST(VocabFromGguf, SpecialTokensOfPhi3TakeWhiteSpace) {
    const auto strip = [](const char* architecture, const char* model) {
        const MetadataFile bytes([&](gguf::Writer& writer) {
            writer.set("general.architecture", architecture);
            writer.set("tokenizer.ggml.model", model);
        });
        const gguf::File file = bytes.open();
        return vocab_from_gguf(file).special_tokens_strip;
    };
    EXPECT_TRUE(strip("phi3", "llama"));
    EXPECT_FALSE(strip("phi3", "gpt2")) << "Phi-4";
    EXPECT_FALSE(strip("llama", "llama"));
}

TEST(VocabFromGguf, RefusesMissingModelAndWrongTypes) {
    const auto read = [](const std::function<void(gguf::Writer&)>& fill) {
        vocab_from_gguf(MetadataFile(fill).open());
    };
    EXPECT_THAT([&] { read([](gguf::Writer&) {}); }, ThrowsMessage<Error>(HasSubstr("tokenizer.ggml.model")));
    const auto with = [&](const std::function<void(gguf::Writer&)>& fill) {
        read([&](gguf::Writer& writer) {
            writer.set("tokenizer.ggml.model", "gpt2");
            fill(writer);
        });
    };
    EXPECT_THAT(([&] { with([](gguf::Writer& w) { w.set("tokenizer.ggml.tokens", "a"); }); }),
                ThrowsMessage<Error>(HasSubstr("tokenizer.ggml.tokens")));
    EXPECT_THAT(
        ([&] { with([](gguf::Writer& w) { w.set("tokenizer.ggml.bos_token_id", uint32_t{0xFFFFFFFF}); }); }),
        ThrowsMessage<Error>(HasSubstr("tokenizer.ggml.bos_token_id")));
    EXPECT_THAT(
        ([&] { with([](gguf::Writer& w) { w.set_array<float>("tokenizer.ggml.token_type", kScores); }); }),
        ThrowsMessage<Error>(HasSubstr("tokenizer.ggml.token_type")));
    EXPECT_THAT(([&] { with([](gguf::Writer& w) { w.set_strings("tokenizer.ggml.scores", kTokens); }); }),
                ThrowsMessage<Error>(HasSubstr("tokenizer.ggml.scores")));
    EXPECT_THAT(([&] { with([](gguf::Writer& w) { w.set("tokenizer.ggml.add_space_prefix", "yes"); }); }),
                ThrowsMessage<Error>(HasSubstr("tokenizer.ggml.add_space_prefix")));
}

}  // namespace
}  // namespace plait::text
