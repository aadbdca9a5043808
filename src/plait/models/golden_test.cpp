#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "plait/base/npy.h"
#include "plait/ir/test_support.h"
#include "plait/models/model.h"
#include "plait/models/reference_runner.h"

// Whole models, computed by the ops' references alone, against the logits of an independent engine
// (tests/golden).
namespace plait::models {
namespace {

namespace fs = std::filesystem;

struct GoldenCase {
    const char* name;  // folder and file, without extension
    double bound;      // of the NMSE
};

struct Golden {
    fs::path model;
    std::vector<int32_t> ids;  // the prompt, then the greedy continuation
    size_t prompt_tokens = 0;
    NpyArray logits;  // a row for each id
};

Golden read_golden(const fs::path& folder, const std::string& name) {
    const fs::path path = folder / (name + ".json");
    const auto json = nlohmann::json::parse(std::ifstream(path));
    Golden golden;
    golden.model = path.parent_path() / json.at("model").get<std::string>();
    golden.ids = json.at("prompt_tokens").get<std::vector<int32_t>>();
    golden.prompt_tokens = golden.ids.size();
    for (const int32_t id : json.at("greedy_tokens")) golden.ids.push_back(id);
    golden.logits = read_npy(path.parent_path() / json.at("logits").get<std::string>());
    return golden;
}

constexpr ModelOptions kExact{.context = 512, .key_type = ir::DType::F32, .value_type = ir::DType::F32};

std::vector<float> run(const Golden& golden, const test::ReferenceOptions& options) {
    const gguf::File file = gguf::File::open(golden.model);
    const auto model = load_model(file, kExact);
    return test::ReferenceRunner(*model, file, options).feed(golden.ids);
}

void expect_close(const Golden& golden, std::span<const float> found, double bound) {
    const std::span<const float> expected = golden.logits.values;
    ASSERT_EQ(found.size(), expected.size());
    EXPECT_LE(ir::test::normalised_error(expected, found), bound);
    const auto cols = static_cast<size_t>(golden.logits.shape.at(1));
    for (size_t row = 0; row < golden.ids.size(); ++row) {
        const double error =
            ir::test::normalised_error(expected.subspan(row * cols, cols), found.subspan(row * cols, cols));
        EXPECT_LE(error, 10 * bound) << "row " << row;
    }
}

// The id after each row from the prompt's last one on is the greedy one.
void expect_greedy(const Golden& golden, std::span<const float> found) {
    const auto cols = static_cast<size_t>(golden.logits.shape.at(1));
    for (size_t row = golden.prompt_tokens - 1; row + 1 < golden.ids.size(); ++row) {
        const auto logits = found.subspan(row * cols, cols);
        EXPECT_EQ(std::ranges::max_element(logits) - logits.begin(), golden.ids[row + 1]) << "row " << row;
    }
}

class GoldenTest : public ::testing::TestWithParam<GoldenCase> {};

std::string case_name(const ::testing::TestParamInfo<GoldenCase>& info) {
    std::string name = info.param.name;
    std::ranges::replace_if(
        name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
    return name;
}

void compare(const fs::path& folder, const GoldenCase& golden_case) {
    const Golden golden = read_golden(folder, golden_case.name);
    const std::vector<float> found = run(golden, {});
    expect_close(golden, found, golden_case.bound);
    expect_greedy(golden, found);
}

const fs::path kInRepository = fs::path(PLAIT_SOURCE_DIR) / "tests/golden";

TEST_P(GoldenTest, MatchesAnIndependentEngine) { compare(kInRepository, GetParam()); }

// The independent engine reads gpt2's GELU from a table of halves.
INSTANTIATE_TEST_SUITE_P(InRepository, GoldenTest,
                         ::testing::Values(GoldenCase{"arch/llama-dense", 1e-10},
                                           GoldenCase{"arch/gpt2-dense", 1e-6},
                                           GoldenCase{"quant/Q4_0", 1e-10}, GoldenCase{"quant/Q4_1", 1e-10},
                                           GoldenCase{"quant/Q8_0", 1e-10}),
                         case_name);

class FullGoldenTest : public ::testing::TestWithParam<GoldenCase> {};

TEST_P(FullGoldenTest, MatchesAnIndependentEngine) {
    const char* folder = std::getenv("PLAIT_GOLDEN");
    if (folder == nullptr) GTEST_SKIP() << "PLAIT_GOLDEN does not name the full golden set";
    compare(folder, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Full, FullGoldenTest,
                         ::testing::Values(GoldenCase{"arch/llama-moe", 1e-10},
                                           GoldenCase{"quant/F16", 1e-10}, GoldenCase{"quant/BF16", 1e-10},
                                           GoldenCase{"quant/Q4_0-wide", 1e-10}),
                         case_name);

// A token's logits are its own: not a bit depends on how many tokens share its step, or on being watched.
TEST(Golden, StepSizesAndTapsLeaveEveryBitAlone) {
    for (const char* name : {"arch/llama-dense", "arch/gpt2-dense"}) {
        const Golden golden = read_golden(kInRepository, name);
        const std::vector<float> together = run(golden, {.step_tokens = 60, .page_tokens = 64});
        EXPECT_EQ(run(golden, {.step_tokens = 1, .page_tokens = 64}), together) << name;
        EXPECT_EQ(run(golden, {.step_tokens = 7, .page_tokens = 64, .taps = true}), together) << name;
    }
}

}  // namespace
}  // namespace plait::models
