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

// tests/golden/text/special_cases.json: special tokens, as an independent tokenizer takes them from a text.
TEST_P(GoldenVocabulary, FindsSpecialTokens) {
    const char* golden = std::getenv("PLAIT_GOLDEN");
    if (golden == nullptr)
        GTEST_SKIP() << "PLAIT_GOLDEN does not name a folder with vocab/" << GetParam() << ".gguf";
    const auto path = std::filesystem::path(golden) / "vocab" / (std::string(GetParam()) + ".gguf");
    const gguf::File file = gguf::File::open(path);
    const Tokenizer tokenizer(vocab_from_gguf(file));
    std::ifstream json_file(PLAIT_SOURCE_DIR "/tests/golden/text/special_cases.json");
    int cases = 0;
    for (const auto& c : nlohmann::json::parse(json_file)) {
        if (c["vocabulary"] != GetParam()) continue;
        EXPECT_EQ(tokenizer.encode(c["text"].get<std::string>(), {.parse_special = c["parse_special"]}),
                  c["ids"].get<std::vector<int32_t>>())
            << c;
        ++cases;
    }
    EXPECT_GE(cases, 40);
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
