#include "plait/tools/inspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "plait/gguf/raw_file_for_test.h"
#include "plait/gguf/split_model_for_test.h"
#include "plait/gguf/writer.h"

namespace plait::tools {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class InspectTest : public ::testing::Test {
  protected:
    const gguf::File& file() {
        writer_.write([&](std::span<const std::byte> bytes) {
            bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
        });
        file_.emplace(gguf::File::parse(bytes_, "m.gguf"));
        return *file_;
    }

    void add_tensor(const char* name, dtype::DType type, std::vector<int64_t> shape, size_t bytes) {
        writer_.add({name, type, std::move(shape), gguf::data_in_memory(std::span(zeros_).first(bytes))});
    }

    gguf::Writer writer_;

  private:
    std::vector<std::byte> zeros_ = std::vector<std::byte>(4096);
    std::vector<std::byte> bytes_;
    std::optional<gguf::File> file_;
};

TEST_F(InspectTest, TellsHeaderMetadataAndTotals) {
    writer_.set("general.architecture", "llama");
    writer_.set("llama.block_count", uint32_t{3});
    writer_.set("llama.attention.layer_norm_rms_epsilon", 1e-5f);
    writer_.set("tokenizer.ggml.add_bos_token", true);
    add_tensor("a.weight", dtype::DType::Q4_0, {2, 64}, 72);
    add_tensor("b.weight", dtype::DType::F32, {5}, 20);
    add_tensor("c.weight", dtype::DType::F32, {6}, 24);
    const std::string text = inspect_text(file(), {.tensors = true});
    EXPECT_THAT(text, HasSubstr("m.gguf: GGUF version 3"));
    EXPECT_THAT(text, HasSubstr("3 tensors, 139 parameters"));
    EXPECT_THAT(text, HasSubstr("'llama'"));
    EXPECT_THAT(text, HasSubstr(" 1e-05\n"));
    EXPECT_THAT(text, HasSubstr("true"));
    EXPECT_THAT(text, HasSubstr("2 x 64"));
}

TEST_F(InspectTest, JsonHoldsTheSame) {
    writer_.set("llama.block_count", uint32_t{3});
    writer_.set("big", std::numeric_limits<uint64_t>::max());
    writer_.set("name", "plait");
    add_tensor("a.weight", dtype::DType::Q4_0, {2, 64}, 72);
    add_tensor("b.weight", dtype::DType::F32, {5}, 20);
    const json result = json::parse(inspect_json(file(), {.tensors = true}));
    EXPECT_EQ(result["version"], 3);
    EXPECT_EQ(result["tensor_count"], 2);
    EXPECT_EQ(result["parameters"], 133);
    EXPECT_EQ(result["metadata"]["llama.block_count"], (json{{"type", "uint32"}, {"value", 3}}));
    EXPECT_EQ(result["metadata"]["big"]["value"], std::numeric_limits<uint64_t>::max());
    EXPECT_EQ(result["metadata"]["name"]["value"], "plait");
    EXPECT_EQ(result["types"]["Q4_0"], (json{{"tensors", 1}, {"parameters", 128}, {"bytes", 72}}));
    EXPECT_EQ(result["tensors"][0]["name"], "a.weight");
    EXPECT_EQ(result["tensors"][0]["shape"], (json{2, 64}));
    EXPECT_EQ(result["tensors"][1]["bytes"], 20);
}

TEST_F(InspectTest, TensorsOnlyWhenWanted) {
    add_tensor("a.weight", dtype::DType::F32, {5}, 20);
    EXPECT_THAT(inspect_text(file(), {}), Not(HasSubstr("a.weight")));
    EXPECT_FALSE(json::parse(inspect_json(file(), {})).contains("tensors"));
}

TEST_F(InspectTest, AnEmptyFile) {
    EXPECT_THAT(inspect_text(file(), {.tensors = true}), HasSubstr("0 tensors, 0 parameters"));
    EXPECT_EQ(json::parse(inspect_json(file(), {.tensors = true}))["tensors"], json::array());
}

TEST_F(InspectTest, LongArraysAreCutWithTheirCount) {
    std::vector<std::string> tokens;
    std::vector<uint64_t> numbers;
    for (int i = 0; i < 1000; ++i) {
        tokens.push_back("tok" + std::to_string(i));
        numbers.push_back(std::numeric_limits<uint64_t>::max() - i);
    }
    writer_.set_strings("tokens", tokens);
    writer_.set_array<uint64_t>("numbers", numbers);
    writer_.set_array<bool>("flags", std::array{true, false});
    writer_.set_array<float>("none", {});
    const std::string text = inspect_text(file(), {});
    EXPECT_THAT(text, HasSubstr("'tok6', 'tok7', ...] (1000 elements)"));
    EXPECT_THAT(text, HasSubstr("[true, false] (2 elements)"));
    EXPECT_THAT(text, HasSubstr("[] (0 elements)"));
    const json meta = json::parse(inspect_json(file(), {}))["metadata"];
    EXPECT_EQ(meta["tokens"]["count"], 1000);
    EXPECT_EQ(meta["tokens"]["first"].size(), 8u);
    EXPECT_EQ(meta["numbers"]["type"], "array of uint64");
    EXPECT_EQ(meta["numbers"]["first"][1], std::numeric_limits<uint64_t>::max() - 1);
    EXPECT_EQ(meta["flags"]["first"], (json{true, false}));
    EXPECT_EQ(meta["none"]["first"], json::array());
}

TEST_F(InspectTest, StrangeTextDoesNoHarm) {
    writer_.set("k\x1b[2J", "\xc3(\n\x1b[31m");
    writer_.set_strings("list", std::vector<std::string>{"\xff\xfe"});
    writer_.set("nan", std::numeric_limits<float>::quiet_NaN());
    const std::string text = inspect_text(file(), {});
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_THAT(text, HasSubstr("'\\xc3(\\x0a\\x1b[31m'"));
    const json meta = json::parse(inspect_json(file(), {}))["metadata"];
    EXPECT_EQ(meta["list"]["first"][0], "\xef\xbf\xbd\xef\xbf\xbd");
    EXPECT_TRUE(meta["nan"]["value"].is_null());
}

TEST_F(InspectTest, TypesPlaitHasNoFormatFor) {
    const gguf::test::RawFile raw = gguf::test::RawFile()
                                        .header(3, 0)
                                        .tensor({.name = "a", .dims = {8, 3}, .type = 31})
                                        .tensor({.name = "b", .dims = {7}, .type = 4000, .offset = 64})
                                        .tensor({.name = "c", .offset = 96})
                                        .data(128);
    const gguf::File file = gguf::File::parse(raw.bytes(), "m.gguf");
    const std::string text = inspect_text(file, {.tensors = true});
    EXPECT_THAT(text, HasSubstr("3 tensors, 39 parameters"));
    EXPECT_THAT(text, ContainsRegex("\n  Q4_0_4_4 +1 tensors +24 parameters of no format that Plait has\n"));
    EXPECT_THAT(text, ContainsRegex("'b' +type 4000 +7 +\\? bytes at [0-9]+\n"));
    const json result = json::parse(inspect_json(file, {.tensors = true}));
    EXPECT_EQ(result["types"]["type 4000"], (json{{"tensors", 1}, {"parameters", 7}, {"bytes", nullptr}}));
    EXPECT_EQ(result["types"]["F32"]["bytes"], 32);
    EXPECT_EQ(result["tensors"][0]["type"], "Q4_0_4_4");
    EXPECT_TRUE(result["tensors"][0]["bytes"].is_null());
    EXPECT_EQ(result["tensors"][2]["bytes"], 32);
}

TEST_F(InspectTest, ModelsInSeveralFiles) {
    writer_.set("general.architecture", "llama");
    add_tensor("a", dtype::DType::F32, {5}, 20);
    add_tensor("b", dtype::DType::F32, {6}, 24);
    const auto folder = std::filesystem::path(::testing::TempDir());
    const auto paths =
        gguf::test::write_parts(file(), folder, "plait_inspect_" + std::to_string(getpid()), 2);
    const gguf::File parts = gguf::File::open(paths[1]);
    const std::string text = inspect_text(parts, {.tensors = true});
    EXPECT_THAT(text, StartsWith(paths[0].string() + ": GGUF version 3, "));
    EXPECT_THAT(text, HasSubstr("\nparts\n  " + paths[0].string()));
    EXPECT_THAT(text, ContainsRegex("'b' .* 24 bytes at [0-9]+ of part 2\n"));
    const json result = json::parse(inspect_json(parts, {.tensors = true}));
    EXPECT_EQ(result["tensor_count"], 2);
    EXPECT_EQ(result["file_bytes"], parts.file_bytes());
    ASSERT_EQ(result["parts"].size(), 2u);
    EXPECT_EQ(result["parts"][1]["file"], paths[1].string());
    EXPECT_EQ(result["parts"][1]["tensor_count"], 1);
    EXPECT_EQ(result["tensors"][1]["part"], 2);
    EXPECT_EQ(result["tensors"][1]["offset"], result["parts"][1]["data_offset"]);
    for (const auto& path : paths) std::filesystem::remove(path);
}

TEST_F(InspectTest, OneFileNeedsNoListOfParts) {
    add_tensor("a", dtype::DType::F32, {5}, 20);
    const gguf::File& one = file();
    EXPECT_THAT(inspect_text(one, {.tensors = true}), Not(HasSubstr("part")));
    EXPECT_EQ(json::parse(inspect_json(one, {}))["parts"].size(), 1u);
}

}  // namespace
}  // namespace plait::tools
