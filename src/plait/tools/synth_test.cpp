#include "plait/tools/synth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "plait/base/error.h"
#include "plait/dtype/dtype.h"
#include "plait/gguf/file.h"
#include "plait/models/model.h"
#include "plait/text/tokenizer.h"
#include "plait/text/vocab_from_gguf.h"
#include "plait/tools/synth_archs/list.h"

namespace plait::tools {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class SynthTest : public ::testing::Test {
  protected:
    void SetUp() override {
        const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
        folder_ = fs::path(::testing::TempDir()) / ("plait_synth_" + std::string(test->name()));
        fs::remove_all(folder_);
        fs::create_directories(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }

    gguf::File made(SynthOptions options) const {
        options.out = folder_ / "m.gguf";
        synth(options);
        return gguf::File::open(options.out);
    }

    std::string bytes_of(SynthOptions options) const {
        options.out = folder_ / "m.gguf";
        synth(options);
        std::ifstream file(options.out, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    fs::path folder_;
};

std::vector<float> values_of(const gguf::Tensor& tensor) {
    std::vector<float> values(static_cast<size_t>(tensor.elements()));
    dtype::info(*tensor.type).decode(tensor.data.data(), values.data(), tensor.elements());
    return values;
}

struct Moments {
    double mean;
    double deviation;
};

Moments moments(const std::vector<float>& values) {
    double sum = 0, squares = 0;
    for (const float v : values) sum += v, squares += double(v) * v;
    const double mean = sum / values.size();
    return {mean, std::sqrt(squares / values.size() - mean * mean)};
}

// --- sizes

TEST(SynthSize, Presets) {
    const SynthSize one = parse_synth_size("llama", "1b");
    EXPECT_EQ(one, (SynthSize{.layers = 16,
                              .width = 2048,
                              .heads = 32,
                              .kv_heads = 8,
                              .head_dim = 64,
                              .ffn = 8192,
                              .vocab = 32000,
                              .experts = 0,
                              .used = 0,
                              .ctx = 8192}));
    EXPECT_EQ(parse_synth_size("llama", "tiny").kv_heads, 2);
    EXPECT_EQ(parse_synth_size("gpt2", "tiny").kv_heads, 4);  // no grouped heads
    EXPECT_EQ(parse_synth_size("olmoe", "tiny").experts, 8);  // nothing but experts
    EXPECT_EQ(parse_synth_size("olmoe", "tiny").used, 2);
    EXPECT_EQ(parse_synth_size("gemma3", "tiny").window, 1024);
    EXPECT_EQ(parse_synth_size("gemma3", "tiny,window=7").window, 7);
    EXPECT_EQ(parse_synth_size("llama", "tiny").window, 0);
}

TEST(SynthSize, KeysChangeAPreset) {
    const SynthSize size =
        parse_synth_size("llama",
                         "layers=3,width=96,heads=3,kv_heads=1,head_dim=64,ffn=160,vocab=300,"
                         "experts=4,used=3,ctx=77");
    EXPECT_EQ(size, (SynthSize{3, 96, 3, 1, 64, 160, 300, 4, 3, 77}));
    EXPECT_EQ(parse_synth_size("llama", "1b,layers=2").layers, 2);
    EXPECT_EQ(parse_synth_size("llama", "1b,layers=2").width, 2048);
    EXPECT_EQ(parse_synth_size("llama", "experts=8").used, 2);
    EXPECT_EQ(parse_synth_size("llama", "experts=1").used, 1);
}

TEST(SynthSize, SaysWhatIsWrong) {
    const auto refuses = [](const char* text, const char* sentence, const char* arch = "llama") {
        EXPECT_THAT([&] { parse_synth_size(arch, text); }, ThrowsMessage<Error>(HasSubstr(sentence))) << text;
    };
    refuses("", "'' is neither a preset at the front (tiny, 1b) nor key=value");
    refuses("7b", "'7b' is neither");
    refuses("layers=2,1b", "'1b' is neither");
    refuses("layers=2,", "'' is neither");
    refuses("depth=2", "unknown key 'depth', expected one of layers, width");
    refuses("layers=two", "layers is 'two', expected a whole number from 1");
    refuses("layers=2x", "layers is '2x'");
    refuses("layers=", "layers is ''");
    refuses("layers=-1", "layers is '-1'");
    refuses("layers=0", "layers is '0'");
    refuses("width=99999999999999999999", "width is '99999999999999999999'");
    refuses("width=1048577", "from 1 to 1048576");
    refuses("layers=2,layers=2", "layers is given twice");
    refuses("head_dim=63", "head_dim is 63, expected an even number");
    refuses("width=100,heads=7", "a width of 100 cannot be divided among 7 heads");
    refuses("heads=4,kv_heads=3", "4 heads cannot be divided among 3 kv_heads");
    refuses("heads=1048576,head_dim=2,kv_heads=1", "1048576 heads of 2 are more than");
    refuses("used=2", "used is given, but experts is not");
    refuses("experts=2,used=3", "3 experts used of 2");
    refuses("vocab=2", "vocab is '2', expected a whole number from 3");
    refuses("experts=2", "gpt2 has no experts", "gpt2");
    refuses("kv_heads=2", "gpt2 has as many kv_heads as heads", "gpt2");
    refuses("head_dim=32", "heads times head_dim is the width", "gpt2");
    refuses("tiny",
            "cannot make the architecture 'bert'; expected one of command-r, gemma2, gemma3, gpt-oss, gpt2",
            "bert");
    refuses("experts=0", "olmoe is made of experts, found 0", "olmoe");
    refuses("window=8", "llama has no layers with a window");
    refuses("experts=0,used=2", "olmoe is made of experts", "olmoe");
}

// --- files

TEST_F(SynthTest, IsReproducibleAndDependsOnTheSeed) {
    const SynthOptions options{.size = "layers=1,vocab=300", .type = "Q4_0", .seed = 7};
    const std::string first = bytes_of(options);
    EXPECT_TRUE(first == bytes_of(options));
    SynthOptions other = options;
    other.seed = 8;
    EXPECT_FALSE(first == bytes_of(other));
}

TEST_F(SynthTest, ReportsWhatItWrote) {
    SynthOptions options{.size = "layers=1,width=64,heads=2,kv_heads=1,ffn=96,vocab=300",
                         .out = folder_ / "m.gguf"};
    const SynthResult result = synth(options);
    EXPECT_EQ(result.bytes, fs::file_size(options.out));
    EXPECT_EQ(result.parameters, 2 * 300 * 64 + 64 * 64 * 2 + 64 * 32 * 2 + 3 * 64 * 96 + 3 * 64);
    EXPECT_EQ(result.note, "");
    options.size = "vocab=100";
    EXPECT_THAT(synth(options).note, HasSubstr("98 of the 256 bytes"));
}

// The same tensors, shapes and keys as a file made elsewhere from the same dimensions.
struct Likeness {
    const char* golden;
    const char* arch;
    const char* size;
};

// The full set, where the environment variable names it; else the small one for what that has.
fs::path golden_folder(const std::string& file) {
    const fs::path small = fs::path(PLAIT_SOURCE_DIR) / "tests/golden/arch";
    if (fs::exists(small / file)) return small;
    const char* full = std::getenv("PLAIT_GOLDEN");
    return full == nullptr ? fs::path() : fs::path(full) / "arch";
}

class SynthLikenessTest : public SynthTest, public ::testing::WithParamInterface<Likeness> {};

std::map<std::string, std::string> tensors_of(const gguf::File& file) {
    std::map<std::string, std::string> tensors;
    for (const gguf::Tensor& tensor : file.tensors()) {
        std::string& description = tensors[std::string(tensor.name)] = dtype::info(*tensor.type).name;
        for (const int64_t dim : tensor.shape()) description += " " + std::to_string(dim);
    }
    return tensors;
}

std::map<std::string, std::string> scalars_of(const gguf::File& file) {
    std::map<std::string, std::string> scalars;
    for (const auto& [key, value] : file.metadata().entries()) {
        if (key.starts_with("tokenizer.") || key == "general.name") continue;
        std::string& description = scalars[std::string(key)] = value.type_name();
        if (const auto count = value.as<int64_t>()) description += " " + std::to_string(*count);
        if (const auto number = value.as<double>()) description += " " + std::to_string(*number);
        if (const auto text = value.as<std::string_view>()) description += " " + std::string(*text);
    }
    return scalars;
}

TEST_P(SynthLikenessTest, MatchesAFileMadeElsewhere) {
    const fs::path folder = golden_folder(GetParam().golden);
    if (folder.empty()) GTEST_SKIP() << "PLAIT_GOLDEN does not name the full golden set";
    const gguf::File theirs = gguf::File::open(folder / GetParam().golden);
    const gguf::File ours = made({.arch = GetParam().arch, .size = GetParam().size, .type = "F16"});
    auto expected = tensors_of(theirs);
    expected.erase("rope_freqs.weight");  // only files of Llama 3.1 and later carry frequency divisors
    EXPECT_EQ(tensors_of(ours), expected);
    EXPECT_EQ(scalars_of(ours), scalars_of(theirs));
}

INSTANTIATE_TEST_SUITE_P(
    Golden, SynthLikenessTest,
    ::testing::Values(
        Likeness{"llama-dense.gguf", "llama",
                 "layers=3,width=128,heads=4,kv_heads=2,ffn=192,vocab=256,ctx=256"},
        Likeness{"gpt2-dense.gguf", "gpt2", "layers=3,width=128,heads=4,ffn=512,vocab=256,ctx=256"},
        Likeness{"gemma3-dense.gguf", "gemma3",
                 "layers=7,width=128,heads=4,kv_heads=2,head_dim=64,ffn=192,vocab=256,ctx=256,window=16"},
        Likeness{"olmoe-moe.gguf", "olmoe",
                 "layers=3,width=128,heads=4,kv_heads=4,ffn=64,vocab=256,experts=16,used=4,ctx=256"},
        Likeness{"phi3-dense.gguf", "phi3",
                 "layers=3,width=128,heads=4,kv_heads=2,ffn=192,vocab=256,ctx=131072"},
        Likeness{"qwen2-dense.gguf", "qwen2",
                 "layers=3,width=128,heads=4,kv_heads=2,ffn=192,vocab=256,ctx=256"},
        Likeness{"qwen3-dense.gguf", "qwen3",
                 "layers=3,width=128,heads=4,kv_heads=2,head_dim=64,ffn=192,vocab=256,ctx=256"},
        Likeness{"qwen3moe-moe.gguf", "qwen3moe",
                 "layers=3,width=128,heads=4,kv_heads=2,head_dim=64,ffn=192,vocab=256,ctx=256"}),
    [](const auto& test) { return std::string(test.param.arch); });

TEST_F(SynthTest, ExpertsReplaceTheFeedForwardNetwork) {
    const gguf::File file =
        made({.size = "layers=1,width=64,heads=2,kv_heads=1,ffn=96,vocab=300,experts=4", .type = "F16"});
    const auto tensors = tensors_of(file);
    EXPECT_EQ(tensors.at("blk.0.ffn_gate_inp.weight"), "F32 4 64");
    EXPECT_EQ(tensors.at("blk.0.ffn_gate_exps.weight"), "F16 4 96 64");
    EXPECT_EQ(tensors.at("blk.0.ffn_up_exps.weight"), "F16 4 96 64");
    EXPECT_EQ(tensors.at("blk.0.ffn_down_exps.weight"), "F16 4 64 96");
    EXPECT_FALSE(tensors.contains("blk.0.ffn_up.weight"));
    EXPECT_EQ(file.metadata().get<uint32_t>("llama.expert_count"), 4u);
    EXPECT_EQ(file.metadata().get<uint32_t>("llama.expert_used_count"), 2u);
}

TEST_F(SynthTest, AnOwnHeadWidthIsWritten) {
    const gguf::File own = made({.size = "width=64,heads=2,kv_heads=1,head_dim=64", .type = "F16"});
    EXPECT_EQ(own.metadata().get<uint32_t>("llama.attention.key_length"), 64u);
    EXPECT_EQ(own.metadata().get<uint32_t>("llama.attention.value_length"), 64u);
    EXPECT_EQ(tensors_of(own).at("blk.0.attn_q.weight"), "F16 128 64");
    EXPECT_EQ(tensors_of(own).at("blk.0.attn_output.weight"), "F16 64 128");
    EXPECT_FALSE(made({.size = "tiny"}).metadata().contains("llama.attention.key_length"));
}

TEST_F(SynthTest, EveryTypeHoldsRandomNumbersOfTheRightSize) {
    for (const char* type : {"F32", "F16", "BF16", "Q8_0", "Q4_1", "q4_0"}) {
        const gguf::File file =
            made({.size = "layers=1,width=256,heads=4,kv_heads=2,vocab=300", .type = type});
        const gguf::Tensor& matrix = *file.find_tensor("blk.0.ffn_down.weight");
        EXPECT_EQ(matrix.type, dtype::find_name(type)->type);
        const std::vector<float> values = values_of(matrix);
        EXPECT_NEAR(moments(values).mean, 0, 0.002) << type;
        EXPECT_NEAR(moments(values).deviation, 1 / std::sqrt(512.0), 0.002) << type;
        const std::set<std::vector<float>> rows = {{values.begin(), values.begin() + 512},
                                                   {values.begin() + 512, values.begin() + 1024}};
        EXPECT_EQ(rows.size(), 2u) << type;
        const gguf::Tensor& gate = *file.find_tensor("blk.0.ffn_gate.weight");
        EXPECT_NE(values_of(gate), values_of(*file.find_tensor("blk.0.ffn_up.weight"))) << type;
        EXPECT_NEAR(moments(values_of(*file.find_tensor("output_norm.weight"))).mean, 1, 0.02);
    }
}

TEST_F(SynthTest, TypesAndRowsThatDoNotFit) {
    const auto refuses = [&](const char* size, const char* type, const char* sentence) {
        const SynthOptions options{.size = size, .type = type, .out = folder_ / "m.gguf"};
        EXPECT_THAT([&] { synth(options); }, ThrowsMessage<Error>(HasSubstr(sentence)));
        EXPECT_TRUE(fs::is_empty(folder_));
    };
    refuses("tiny", "Q9_9", "cannot store weights as 'Q9_9'; expected one of F32, F16");
    refuses("tiny", "I32", "cannot store weights as 'I32'");
    refuses("width=80,heads=4", "Q4_0",
            "token_embd.weight has rows of 80, which is not a multiple of the 32 weights in a block of Q4_0");
    refuses("ffn=100", "Q8_0", "blk.0.ffn_down.weight has rows of 100");
}

TEST_F(SynthTest, OddSizesWorkWithoutBlocks) {
    const gguf::File file =
        made({.size = "layers=1,width=30,heads=5,kv_heads=1,ffn=7,vocab=3,ctx=1", .type = "F32"});
    EXPECT_EQ(tensors_of(file).at("blk.0.ffn_down.weight"), "F32 30 7");
    EXPECT_EQ(file.metadata().strings("tokenizer.ggml.tokens").size(), 3u);
}

TEST_F(SynthTest, PlaitReadsWhatItMakes) {
    const models::ModelOptions any{.context = 16};
    for (const char* size : {"tiny", "experts=4,used=3", "head_dim=32,kv_heads=1"})
        EXPECT_EQ(models::load_model(made({.size = size}), any)->summary().width, 256) << size;
    for (const char* arch : {"gpt2", "gemma2", "gemma3", "gpt-oss"})
        EXPECT_EQ(models::load_model(made({.arch = arch, .size = "tiny"}), any)->summary().layers, 2) << arch;
}

TEST_F(SynthTest, EveryArchitectureHasItsPeculiarities) {
    const auto model = [&](const char* arch) {
        return made(
            {.arch = arch, .size = "layers=2,width=96,heads=6,ffn=80,vocab=96,ctx=64", .type = "F32"});
    };
    for (const SynthArch* arch : synth_archs())
        EXPECT_EQ(model(arch->name.data()).metadata().get<std::string_view>("general.architecture"),
                  arch->name);
    const gguf::File gptneox = model("gptneox");
    EXPECT_EQ(gptneox.metadata().get<uint32_t>("gptneox.rope.dimension_count"), 4u);  // a quarter of 16
    EXPECT_TRUE(gptneox.metadata().get<bool>("gptneox.use_parallel_residual"));
    const auto command_r = tensors_of(model("command-r"));
    EXPECT_EQ(command_r.at("blk.1.attn_q_norm.weight"), "F32 6 16");
    EXPECT_EQ(command_r.at("blk.1.attn_k_norm.weight"), "F32 2 16");
    EXPECT_FALSE(command_r.contains("blk.0.ffn_norm.weight"));
    const gguf::File qwen2moe = model("qwen2moe");
    EXPECT_EQ(qwen2moe.metadata().get<uint32_t>("qwen2moe.expert_feed_forward_length"), 40u);
    EXPECT_EQ(qwen2moe.metadata().get<uint32_t>("qwen2moe.expert_shared_feed_forward_length"), 80u);
    EXPECT_EQ(tensors_of(qwen2moe).at("blk.0.ffn_gate_inp_shexp.weight"), "F32 96");
    const gguf::File gpt_oss = model("gpt-oss");
    EXPECT_EQ(gpt_oss.metadata().get<uint32_t>("gpt-oss.attention.sliding_window"), 128u);
    EXPECT_EQ(tensors_of(gpt_oss).at("blk.1.attn_sinks.weight"), "F32 6");
    EXPECT_EQ(tensors_of(gpt_oss).at("blk.1.ffn_gate_exps.bias"), "F32 8 40");
    const std::vector<float> divisors = values_of(*model("phi3").find_tensor("rope_factors_long.weight"));
    EXPECT_THAT(divisors, ::testing::Each(AllOf(::testing::Gt(1.0f), ::testing::Lt(3.0f))));
}

TEST_F(SynthTest, TheTokenizerSpellsAnyText) {
    const gguf::File file = made({.size = "vocab=3000"});
    const text::Tokenizer tokenizer(text::vocab_from_gguf(file));
    const std::string anything = "Then the rain, 42 naïve cats\n\xff\t end.";
    const std::vector<int32_t> ids = tokenizer.encode(anything);
    EXPECT_EQ(tokenizer.decode(ids), anything);
    EXPECT_LT(ids.size(), anything.size());  // merges apply
    EXPECT_THAT(tokenizer.end_of_generation(), ::testing::Contains(2999));
}

TEST_F(SynthTest, TheTokenizerIsWritten) {
    const gguf::File file = made({.size = "vocab=300"});
    const gguf::Metadata& meta = file.metadata();
    EXPECT_EQ(meta.get<std::string_view>("tokenizer.ggml.model"), "gpt2");
    EXPECT_EQ(meta.strings("tokenizer.ggml.tokens").size(), 300u);
    EXPECT_EQ(meta.array<int32_t>("tokenizer.ggml.token_type").size(), 300u);
    EXPECT_EQ(meta.strings("tokenizer.ggml.merges").size(), 300u - 258u);
    EXPECT_EQ(meta.get<uint32_t>("tokenizer.ggml.bos_token_id"), 298u);
    EXPECT_EQ(meta.get<uint32_t>("tokenizer.ggml.eos_token_id"), 299u);
}

}  // namespace
}  // namespace plait::tools
