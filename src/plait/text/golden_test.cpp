#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "plait/gguf/file.h"
#include "plait/text/stream_decoder.h"
#include "plait/text/tokenizer.h"
#include "plait/text/vocab_from_gguf.h"

// Real vocabularies, too large for a clone: the folder that PLAIT_GOLDEN names has them in vocab/, with the
// ids that an independent tokenizer gives some texts.
namespace plait::text {
namespace {

class GoldenVocabulary : public testing::TestWithParam<const char*> {};

std::string streamed(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
    StreamDecoder decoder(tokenizer, {.special = true});
    std::string text;
    for (const int32_t id : ids) text += decoder.push(id);
    return text + decoder.finish();
}

TEST_P(GoldenVocabulary, GivesTheExpectedIdsAndTheTextBack) {
    const char* golden = std::getenv("PLAIT_GOLDEN");
    if (golden == nullptr)
        GTEST_SKIP() << "PLAIT_GOLDEN does not name a folder with vocab/" << GetParam() << ".gguf";
    const auto stem = std::filesystem::path(golden) / "vocab" / GetParam();
    const gguf::File file = gguf::File::open(stem.string() + ".gguf");
    const Tokenizer tokenizer(vocab_from_gguf(file));
    std::ifstream json_file(stem.string() + ".json");
    const auto json = nlohmann::json::parse(json_file);
    ASSERT_GE(json["cases"].size(), 50u);
    for (const auto& c : json["cases"]) {
        const std::string text = c["text"];
        const auto ids =
            tokenizer.encode(text, {.add_bos = json["add_bos"], .parse_special = c["parse_special"]});
        EXPECT_EQ(ids, c["ids"].get<std::vector<int32_t>>()) << testing::PrintToString(text);
        const bool has_special = tokenizer.decode(ids) != tokenizer.decode(ids, {.special = true});
        if (has_special && tokenizer.adds_space_prefix()) continue;  // the spaces after special tokens stay
        EXPECT_EQ(tokenizer.decode(ids, {.special = true}), text);
        const bool prefixed = tokenizer.adds_space_prefix() && !text.empty();
        EXPECT_EQ(streamed(tokenizer, ids), prefixed ? " " + text : text);
    }
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenVocabulary,
                         testing::Values("gpt-2", "llama-bpe", "llama-spm", "phi-3", "qwen2"),
                         [](const auto& file) {
                             std::string name = file.param;
                             std::erase(name, '-');
                             return name;
                         });

}  // namespace
}  // namespace plait::text
