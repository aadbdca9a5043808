#include <gtest/gtest.h>

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
using test::GoldenModel;

constexpr ModelOptions kExact{.context = 512, .key_type = ir::DType::F32, .value_type = ir::DType::F32};

std::vector<float> run(const Golden& golden, const test::ReferenceOptions& options) {
    const gguf::File file = gguf::File::open(golden.model);
    const auto model = load_model(file, kExact);
    return test::ReferenceRunner(*model, file, options).feed(golden.ids);
}

class GoldenTest : public ::testing::TestWithParam<GoldenModel> {};

std::string case_name(const ::testing::TestParamInfo<GoldenModel>& info) {
    return test::test_name(info.param);
}

void compare(const fs::path& folder, const GoldenModel& model) {
    const Golden golden = test::read_golden(folder, model.name);
    const std::vector<float> found = run(golden, {});
    EXPECT_EQ(test::logits_fault(golden, found, model.exact_bound), "");
    EXPECT_EQ(test::greedy_fault(golden, found, 0), "");
}

const fs::path kInRepository = test::small_golden_folder();

TEST_P(GoldenTest, MatchesAnIndependentEngine) { compare(kInRepository, GetParam()); }

INSTANTIATE_TEST_SUITE_P(InRepository, GoldenTest, ::testing::ValuesIn(test::small_golden_models()),
                         case_name);

class FullGoldenTest : public ::testing::TestWithParam<GoldenModel> {};

TEST_P(FullGoldenTest, MatchesAnIndependentEngine) {
    const fs::path folder = test::full_golden_folder();
    if (folder.empty()) GTEST_SKIP() << "PLAIT_GOLDEN does not name the full golden set";
    compare(folder, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Full, FullGoldenTest, ::testing::ValuesIn(test::full_golden_models()), case_name);

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
