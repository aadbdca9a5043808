#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "plait/models/golden_data.h"
#include "plait/models/model.h"
#include "plait/models/reference_runner.h"

// Whole models, computed by the ops' references alone, against the logits of an independent engine
// (tests/golden).
namespace plait::models {
namespace {

namespace fs = std::filesystem;
using test::Golden;

struct GoldenCase {
    const char* name;  // folder and file, without extension
    double bound;      // of the NMSE
};

constexpr ModelOptions kExact{.context = 512, .key_type = ir::DType::F32, .value_type = ir::DType::F32};

std::vector<float> run(const Golden& golden, const test::ReferenceOptions& options) {
    const gguf::File file = gguf::File::open(golden.model);
    const auto model = load_model(file, kExact);
    return test::ReferenceRunner(*model, file, options).feed(golden.ids);
}

class GoldenTest : public ::testing::TestWithParam<GoldenCase> {};

std::string case_name(const ::testing::TestParamInfo<GoldenCase>& info) {
    std::string name = info.param.name;
    std::ranges::replace_if(
        name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
    return name;
}

void compare(const fs::path& folder, const GoldenCase& golden_case) {
    const Golden golden = test::read_golden(folder, golden_case.name);
    const std::vector<float> found = run(golden, {});
    EXPECT_EQ(test::logits_fault(golden, found, golden_case.bound), "");
    EXPECT_EQ(test::greedy_fault(golden, found, 0), "");
}

const fs::path kInRepository = test::small_golden_folder();

TEST_P(GoldenTest, MatchesAnIndependentEngine) { compare(kInRepository, GetParam()); }

// The independent engine reads gpt2's GELU from a table of halves.
INSTANTIATE_TEST_SUITE_P(InRepository, GoldenTest,
                         ::testing::Values(GoldenCase{"arch/llama-dense", 1e-10},
                                           GoldenCase{"arch/gpt2-dense", 1e-6},
                                           GoldenCase{"arch/gemma2-dense", 1e-10},
                                           GoldenCase{"arch/gpt-oss-moe", 1e-10},
                                           GoldenCase{"quant/Q4_0", 1e-10}, GoldenCase{"quant/Q4_1", 1e-10},
                                           GoldenCase{"quant/Q8_0", 1e-10}),
                         case_name);

class FullGoldenTest : public ::testing::TestWithParam<GoldenCase> {};

TEST_P(FullGoldenTest, MatchesAnIndependentEngine) {
    const fs::path folder = test::full_golden_folder();
    if (folder.empty()) GTEST_SKIP() << "PLAIT_GOLDEN does not name the full golden set";
    compare(folder, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Full, FullGoldenTest,
                         ::testing::Values(GoldenCase{"arch/llama-moe", 1e-10},
                                           GoldenCase{"arch/gemma3-dense", 1e-6},
                                           GoldenCase{"quant/F16", 1e-10}, GoldenCase{"quant/BF16", 1e-10},
                                           GoldenCase{"quant/Q4_0-wide", 1e-10}),
                         case_name);

// A token's logits are its own: not a bit depends on how many tokens share its step, or on being watched.
TEST(Golden, StepSizesAndTapsLeaveEveryBitAlone) {
    for (const char* name : {"arch/llama-dense", "arch/gpt2-dense"}) {
        const Golden golden = test::read_golden(kInRepository, name);
        const std::vector<float> together = run(golden, {.step_tokens = 60, .page_tokens = 64});
        EXPECT_EQ(run(golden, {.step_tokens = 1, .page_tokens = 64}), together) << name;
        EXPECT_EQ(run(golden, {.step_tokens = 7, .page_tokens = 64, .taps = true}), together) << name;
    }
}

}  // namespace
}  // namespace plait::models
