#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "plait/dtype/dtype.h"
#include "plait/gguf/file.h"
#include "plait/gguf/writer.h"
#include "plait/models/golden_data.h"
#include "support.h"

// Whole models on whole devices against the logits of an independent engine.
namespace plait::system_test {
namespace {

using models::test::Golden;

struct ModelCase {
    const char* name;
    double exact_bound;
    double default_bound;
};

struct DeviceCase {
    const char* devices;
    const char* simd;
};

constexpr ModelCase kSmall[] = {
    {"arch/llama-dense", 1e-10, 1e-5}, {"arch/gpt2-dense", 1e-6, 1e-5}, {"arch/gemma2-dense", 1e-10, 1e-5},
    {"arch/gpt-oss-moe", 1e-10, 1e-5}, {"quant/Q4_0", 1e-10, 1e-3},     {"quant/Q4_1", 1e-10, 1e-3},
    {"quant/Q8_0", 1e-10, 1e-3},
};
constexpr ModelCase kFull[] = {
    {"arch/llama-moe", 1e-10, 1e-5}, {"arch/gemma3-dense", 1e-6, 1e-5}, {"quant/F16", 1e-10, 1e-5},
    {"quant/BF16", 1e-10, 1e-4},     {"quant/Q4_0-wide", 1e-10, 1e-3},
};
constexpr DeviceCase kDevices[] = {{"cpu", "best"}, {"cpu", "scalar"}, {"sim", "best"}};

engine::EngineOptions options_for(const Golden& golden, const DeviceCase& device, bool exact) {
    engine::EngineOptions options = system_test::options_for(golden.model, 512);
    options.devices = device.devices;
    options.simd = device.simd;
    options.exact = exact;
    if (exact) options.key_type = options.value_type = dtype::DType::F32;
    return options;
}

// By default ids may differ from the first row on whose two best lie closer than this share of the logits'
// size.
constexpr double kCloseCall = 0.05;

void compare(const std::filesystem::path& folder, const ModelCase& model, const DeviceCase& device) {
    SCOPED_TRACE(std::string(model.name) + " on " + device.devices + " " + device.simd);
    const Golden golden = models::test::read_golden(folder, model.name);
    const auto exact = all_logits(options_for(golden, device, true), golden.ids);
    EXPECT_EQ(models::test::logits_fault(golden, exact, model.exact_bound), "");
    EXPECT_EQ(models::test::greedy_fault(golden, exact, 0), "");
    const auto usual = all_logits(options_for(golden, device, false), golden.ids);
    EXPECT_EQ(models::test::logits_fault(golden, usual, model.default_bound), "");
    EXPECT_EQ(models::test::greedy_fault(golden, usual, kCloseCall), "");
}

using Case = std::tuple<ModelCase, DeviceCase>;

std::string case_name(const testing::TestParamInfo<Case>& info) {
    const auto& [model, device] = info.param;
    std::string name = std::string(model.name) + "_" + device.devices + "_" + device.simd;
    std::ranges::replace_if(
        name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
    return name;
}

class GoldenTest : public testing::TestWithParam<Case> {};
TEST_P(GoldenTest, MatchesAnIndependentEngine) {
    compare(models::test::small_golden_folder(), std::get<0>(GetParam()), std::get<1>(GetParam()));
}
INSTANTIATE_TEST_SUITE_P(InRepository, GoldenTest,
                         testing::Combine(testing::ValuesIn(kSmall), testing::ValuesIn(kDevices)), case_name);

class FullGoldenTest : public testing::TestWithParam<Case> {};
TEST_P(FullGoldenTest, MatchesAnIndependentEngine) {
    const auto folder = models::test::full_golden_folder();
    if (folder.empty()) GTEST_SKIP() << "PLAIT_GOLDEN does not name the full golden set";
    compare(folder, std::get<0>(GetParam()), std::get<1>(GetParam()));
}
INSTANTIATE_TEST_SUITE_P(Full, FullGoldenTest,
                         testing::Combine(testing::ValuesIn(kFull), testing::ValuesIn(kDevices)), case_name);

// The same model with every weight widened to F32, which changes no value.
void write_widened(const gguf::File& file, const std::filesystem::path& path,
                   std::vector<std::vector<float>>& values) {
    gguf::Writer writer;
    const gguf::Metadata& metadata = file.metadata();
    for (const char* key : {"general.architecture", "tokenizer.ggml.model"}) {
        writer.set(key, metadata.get<std::string_view>(key));
    }
    for (const char* key :
         {"block_count", "context_length", "embedding_length", "feed_forward_length", "attention.head_count",
          "attention.head_count_kv", "vocab_size", "rope.dimension_count"}) {
        const std::string name = std::string("llama.") + key;
        writer.set(name, metadata.get<uint32_t>(name));
    }
    for (const char* key : {"llama.attention.layer_norm_rms_epsilon", "llama.rope.freq_base"}) {
        writer.set(key, metadata.get<float>(key));
    }
    for (const gguf::Tensor& tensor : file.tensors()) {
        std::vector<float>& wide = values.emplace_back(static_cast<size_t>(tensor.elements()));
        dtype::info(*tensor.type).decode(tensor.data.data(), wide.data(), tensor.elements());
        writer.add({.name = std::string(tensor.name),
                    .type = dtype::DType::F32,
                    .shape = {tensor.shape().begin(), tensor.shape().end()},
                    .data = gguf::data_in_memory(std::as_bytes(std::span(wide)))});
    }
    writer.write(path);
}

TEST(Golden, F32WeightsAreAsGood) {
    Golden golden = models::test::read_golden(models::test::small_golden_folder(), "arch/llama-dense");
    const auto path =
        std::filesystem::temp_directory_path() / ("plait-test-f32-" + std::to_string(getpid()) + ".gguf");
    std::vector<std::vector<float>> values;
    write_widened(gguf::File::open(golden.model), path, values);
    golden.model = path;
    for (const DeviceCase& device : kDevices) {
        EXPECT_EQ(models::test::logits_fault(
                      golden, all_logits(options_for(golden, device, true), golden.ids), 1e-10),
                  "");
        EXPECT_EQ(models::test::logits_fault(
                      golden, all_logits(options_for(golden, device, false), golden.ids), 1e-5),
                  "");
    }
    std::filesystem::remove(path);
}

}  // namespace
}  // namespace plait::system_test
