#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "plait/ir/test_support.h"
#include "plait/tools/synth_archs/list.h"
#include "support.h"

// Every architecture on every device: what the ops of each need of a device is there, and gives the same
// numbers everywhere.
namespace plait::system_test {
namespace {

constexpr size_t kVocabulary = 96;
constexpr size_t kTokens = 70;  // more than a page

// Small, with odd numbers, groups of three heads and, where layers differ, one of each kind.
std::filesystem::path model_of(const tools::SynthArch& arch) {
    const std::string kv_heads = arch.grouped_heads ? ",kv_heads=2" : "";
    const std::string size = "layers=5,width=96,heads=6,ffn=80,vocab=96,ctx=128" + kv_heads;
    return synth_model(std::string(arch.name), size, "F16");
}

// Rows whose error is above what usual arithmetic costs.
int64_t other_rows(std::span<const float> expected, std::span<const float> found) {
    int64_t count = 0;
    for (size_t row = 0; row < kTokens; ++row) {
        const auto of = [&](std::span<const float> rows) {
            return rows.subspan(row * kVocabulary, kVocabulary);
        };
        if (!(ir::test::normalised_error(of(expected), of(found)) <= 1e-5)) ++count;
    }
    return count;
}

class ArchitectureTest : public testing::TestWithParam<const tools::SynthArch*> {
  protected:
    engine::EngineOptions options() const { return options_for(model_of(*GetParam()), 128); }
    const std::vector<int32_t> ids_ = random_ids(kTokens, static_cast<int64_t>(kVocabulary), 3);
};

INSTANTIATE_TEST_SUITE_P(All, ArchitectureTest, testing::ValuesIn(tools::synth_archs()),
                         [](const auto& arch) {
                             std::string name(arch.param->name);
                             std::ranges::replace(name, '-', '_');
                             return name;
                         });

TEST_P(ArchitectureTest, DevicesAgree) {
    engine::EngineOptions exact = options();
    exact.exact = true;
    exact.key_type = exact.value_type = dtype::DType::F32;
    const std::vector<float> expected = all_logits(exact, ids_);
    ASSERT_EQ(expected.size(), kTokens * kVocabulary);
    exact.devices = "sim";
    EXPECT_LE(ir::test::normalised_error(expected, all_logits(exact, ids_)), 1e-9);
    const std::vector<float> usual = all_logits(options(), ids_);
    ASSERT_EQ(usual.size(), expected.size());
    // A close call between two experts may go the other way, which makes the token's row another one.
    const bool chooses = GetParam()->experts == tools::SynthExperts::always;
    EXPECT_LE(other_rows(expected, usual), chooses ? 2 : 0);
}

TEST_P(ArchitectureTest, StepSizesLeaveEveryBitAlone) {
    engine::EngineOptions usual = options();
    const std::vector<float> expected = all_logits(usual, ids_);
    for (const int64_t micro_batch : {1, 7}) {
        usual.micro_batch = micro_batch;
        EXPECT_EQ(all_logits(usual, ids_), expected) << "micro-batch " << micro_batch;
    }
}

}  // namespace
}  // namespace plait::system_test
