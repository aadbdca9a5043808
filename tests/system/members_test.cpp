#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "plait/models/golden_data.h"
#include "support.h"

// Models on several devices plaited into one, against the logits of an independent engine: whatever the
// number of members and their shares, a model says the same.
namespace plait::system_test {
namespace {

using engine::EngineOptions;
using models::test::Golden;
using models::test::GoldenModel;

struct Members {
    const char* name;
    const char* devices;
    std::vector<double> shares = {};
};

// Any number of members, shares of nothing, memories of their own, and unlike members.
const Members kMembers[] = {
    {"one", "cpu"},
    {"two", "cpu*2"},
    {"three", "cpu*3"},
    {"four", "cpu*4"},
    {"five", "cpu*5"},
    {"eight", "cpu*8"},
    {"three_to_one", "cpu*2", {3, 1}},
    {"one_of_nothing", "cpu*3", {1, 0, 2}},
    {"all_to_one", "cpu*3", {100, 0, 0}},
    {"sim_sim", "sim*2"},
    {"sim_sim_sim", "sim*3"},
    {"cpu_sim", "cpu,sim"},
    {"cpu_sim_sim", "cpu,sim*2"},
};

// Blocks that span heads are cut between members too.
const Members kQuantMembers[] = {{"one", "cpu"}, {"two", "cpu*2"}, {"three", "cpu*3"}, {"four", "cpu*4"}};

EngineOptions options_for(const Golden& golden, const Members& members, bool exact = true) {
    EngineOptions options = system_test::options_for(golden.model, 512);
    options.devices = members.devices;
    options.split.shares = members.shares;
    options.split.check_members = true;
    options.exact = exact;
    if (exact) options.key_type = options.value_type = dtype::DType::F32;
    return options;
}

double squared_error(std::span<const float> expected, std::span<const float> actual) {
    double difference = 0, size = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
        difference += std::pow(static_cast<double>(actual[i]) - expected[i], 2);
        size += std::pow(static_cast<double>(expected[i]), 2);
    }
    return difference / size;
}

bool is_quant(const GoldenModel& model) { return std::string_view(model.name).starts_with("quant/"); }

// The same without the host between: the same bits.
void expect_embedded(EngineOptions options, std::span<const int32_t> ids, std::span<const float> stepped) {
    options.split.check_members = false;
    const std::vector<float> embedded = all_logits(options, ids);
    EXPECT_TRUE(std::ranges::equal(embedded, stepped)) << "members that run together differ";
}

void expect_equal(const std::filesystem::path& folder, const GoldenModel& model, const Members& members) {
    SCOPED_TRACE(std::string(model.name) + " on " + members.devices);
    const Golden golden = models::test::read_golden(folder, model.name);
    const auto logits = all_logits(options_for(golden, members), golden.ids);
    EXPECT_EQ(models::test::logits_fault(golden, logits, std::max(1e-9, model.exact_bound)), "");
    EXPECT_EQ(models::test::greedy_fault(golden, logits, 0), "");
    expect_embedded(options_for(golden, members), golden.ids, logits);
}

// The default path, whose own error is larger: no more of it than on one member.
void expect_as_good(const std::filesystem::path& folder, const GoldenModel& model, const Members& members) {
    SCOPED_TRACE(std::string(model.name) + " on " + members.devices);
    const Golden golden = models::test::read_golden(folder, model.name);
    const double alone =
        squared_error(golden.logits.values, all_logits(options_for(golden, {"", "cpu"}, false), golden.ids));
    const double together =
        squared_error(golden.logits.values, all_logits(options_for(golden, members, false), golden.ids));
    EXPECT_LE(together, std::max(1e-9, 1.25 * alone));
}

std::vector<GoldenModel> only(std::span<const GoldenModel> models, bool quant) {
    std::vector<GoldenModel> chosen;
    std::ranges::copy_if(models, std::back_inserter(chosen),
                         [&](const GoldenModel& model) { return is_quant(model) == quant; });
    return chosen;
}

using Case = std::tuple<GoldenModel, Members>;

std::string case_name(const testing::TestParamInfo<Case>& info) {
    return models::test::test_name(std::get<0>(info.param)) + "_" + std::get<1>(info.param).name;
}

class MembersTest : public testing::TestWithParam<Case> {};
TEST_P(MembersTest, SayTheSame) {
    expect_equal(models::test::small_golden_folder(), std::get<0>(GetParam()), std::get<1>(GetParam()));
}
INSTANTIATE_TEST_SUITE_P(InRepository, MembersTest,
                         testing::Combine(testing::ValuesIn(only(models::test::small_golden_models(), false)),
                                          testing::ValuesIn(kMembers)),
                         case_name);

class FullMembersTest : public testing::TestWithParam<Case> {};
TEST_P(FullMembersTest, SayTheSame) {
    const auto folder = models::test::full_golden_folder();
    if (folder.empty()) GTEST_SKIP() << "PLAIT_GOLDEN does not name the full golden set";
    expect_equal(folder, std::get<0>(GetParam()), std::get<1>(GetParam()));
}
INSTANTIATE_TEST_SUITE_P(Full, FullMembersTest,
                         testing::Combine(testing::ValuesIn(only(models::test::full_golden_models(), false)),
                                          testing::ValuesIn(kMembers)),
                         case_name);

class FullQuantMembersTest : public testing::TestWithParam<Case> {};
TEST_P(FullQuantMembersTest, AreAsGoodAsOne) {
    const auto folder = models::test::full_golden_folder();
    if (folder.empty()) GTEST_SKIP() << "PLAIT_GOLDEN does not name the full golden set";
    expect_equal(folder, std::get<0>(GetParam()), std::get<1>(GetParam()));
    expect_as_good(folder, std::get<0>(GetParam()), std::get<1>(GetParam()));
}
INSTANTIATE_TEST_SUITE_P(Full, FullQuantMembersTest,
                         testing::Combine(testing::ValuesIn(only(models::test::full_golden_models(), true)),
                                          testing::ValuesIn(kQuantMembers)),
                         case_name);

// Every way to reduce, to lay out tables and to cut experts.
TEST(Members, EveryOptionSaysTheSame) {
    for (const char* name :
         {"arch/llama-dense", "arch/qwen2moe-moe", "arch/gpt-oss-moe", "arch/gpt2-dense"}) {
        const Golden golden = models::test::read_golden(models::test::small_golden_folder(), name);
        const double bound = std::string_view(name) == "arch/gpt2-dense" ? 1e-6 : 1e-9;
        for (const auto embedding : {plan::EmbeddingSplit::automatic, plan::EmbeddingSplit::mirrored,
                                     plan::EmbeddingSplit::vocabulary, plan::EmbeddingSplit::hidden}) {
            for (const auto experts : {plan::ExpertSplit::inner, plan::ExpertSplit::experts}) {
                for (const auto way :
                     {collectives::Way::direct, collectives::Way::pairwise, collectives::Way::butterfly}) {
                    EngineOptions options = options_for(golden, {"", "cpu*3"});
                    options.split.embedding = embedding;
                    options.split.experts = experts;
                    options.split.reduce = way;
                    EXPECT_EQ(models::test::logits_fault(golden, all_logits(options, golden.ids), bound), "")
                        << name << " embedding " << static_cast<int>(embedding) << " experts "
                        << static_cast<int>(experts) << " " << collectives::way_name(way);
                }
            }
        }
    }
}

// Members of different kinds differ in last bits, so that a router's choice comes from one of them.
TEST(Members, UnlikeMembersChooseExpertsTogether) {
    const Golden golden = models::test::read_golden(models::test::small_golden_folder(), "arch/qwen2moe-moe");
    const auto broadcasts = [&](const char* devices) {
        const engine::Prepared prepared = engine::prepare(options_for(golden, {"", devices}));
        const auto collectives = prepared.programs.back()->collectives();
        return std::ranges::count(collectives, std::string("broadcast"),
                                  &device::CollectiveDescription::kind);
    };
    const int64_t layers = engine::prepare(options_for(golden, {"", "cpu"})).model->summary().layers;
    EXPECT_EQ(broadcasts("cpu,sim"), layers);
    EXPECT_EQ(broadcasts("cpu*2"), 0);
}

TEST(Members, RowsAloneSayTheSame) {
    for (const GoldenModel& model : only(models::test::small_golden_models(), false)) {
        const Golden golden = models::test::read_golden(models::test::small_golden_folder(), model.name);
        for (const Members& members :
             {Members{"", "cpu*2"}, Members{"", "cpu*3", {1, 0, 2}}, Members{"", "cpu,sim"}}) {
            for (const int main : {0, 1}) {
                EngineOptions options = options_for(golden, members);
                options.split.mode = engine::SplitMode::row;
                options.split.main_device = main;
                EXPECT_EQ(models::test::logits_fault(golden, all_logits(options, golden.ids),
                                                     std::max(1e-9, model.exact_bound)),
                          "")
                    << model.name << " on " << members.devices << ", main " << main;
            }
        }
    }
}

// Heads that do not divide by the members, in blocks of 256 that span two heads.
struct Heads {
    int query, kv, width;
    std::vector<int> members;
};

TEST(Members, HeadsNeedNotDivide) {
    for (const Heads& heads : {Heads{28, 4, 128, {1, 2, 3, 4, 5, 6, 7, 8}}, Heads{52, 4, 64, {8}},
                               Heads{12, 12, 64, {5}}, Heads{6, 3, 128, {2, 4, 5}}}) {
        const std::string size = "layers=2,width=256,heads=" + std::to_string(heads.query) +
                                 ",kv_heads=" + std::to_string(heads.kv) +
                                 ",head_dim=" + std::to_string(heads.width) + ",ffn=768,vocab=300,ctx=256";
        const auto model = synth_model("llama", size, "Q4_K");
        const std::vector<int32_t> ids = random_ids(40, 300, 5);
        EngineOptions options = system_test::options_for(model, 256);
        options.exact = true;
        options.key_type = options.value_type = dtype::DType::F32;
        const std::vector<float> alone = all_logits(options, ids);
        for (const int members : heads.members) {
            options.devices = "cpu*" + std::to_string(members);
            const engine::Prepared prepared = engine::prepare(options);
            for (int m = 0; m < members && heads.query >= members; ++m)
                EXPECT_GT(prepared.state_tensors()[0].layout.is(ir::LayoutKind::split)
                              ? prepared.state_tensors()[0].layout.extent_of(m)
                              : 1,
                          0)
                    << size << " on " << members;
            EXPECT_LE(squared_error(alone, all_logits(options, ids)), 1e-9) << size << " on " << members;
        }
    }
}

TEST(Members, EveryCacheTypeIsAsGoodAsOnOne) {
    const Golden golden = models::test::read_golden(models::test::small_golden_folder(), "arch/llama-dense");
    for (const auto type : {dtype::DType::F16, dtype::DType::BF16, dtype::DType::Q8_0, dtype::DType::Q4_0}) {
        const auto error = [&](const char* devices) {
            EngineOptions options = options_for(golden, {"", devices});
            options.key_type = options.value_type = type;
            return squared_error(golden.logits.values, all_logits(options, golden.ids));
        };
        const double alone = error("cpu");
        for (const char* devices : {"cpu*2", "cpu*3", "cpu*4", "cpu,sim"})
            EXPECT_LE(error(devices), std::max(1e-9, 1.25 * alone))
                << dtype::info(type).name << " on " << devices;
    }
}

TEST(Members, TheSameStartGivesTheSameBits) {
    const Golden golden = models::test::read_golden(models::test::small_golden_folder(), "arch/llama-dense");
    for (const Members& members : kMembers) {
        const EngineOptions options = options_for(golden, members, false);
        EXPECT_EQ(all_logits(options, golden.ids), all_logits(options, golden.ids)) << members.name;
    }
}

}  // namespace
}  // namespace plait::system_test
