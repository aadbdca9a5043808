#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "support.h"

// Where members say their time goes.
namespace plait::system_test {
namespace {

using device::RunTimes;
using engine::Engine;
using engine::EngineOptions;

constexpr int kSteps = 3;  // of 64 tokens each

struct Case {
    const char* name;
    const char* devices;
    int threads = 2;
    bool stepped = false;
};

const Case kCases[] = {
    {"one", "cpu"},
    {"one_thread", "cpu", 1},
    {"simulated", "sim"},
    {"two", "cpu*2"},
    {"four_workers_on_two_members", "cpu*2", 4},
    {"three", "cpu*3"},
    {"one_core", "cpu:0,cpu:0"},
    {"stepped", "cpu*2", 2, true},
    {"unlike", "cpu,sim"},
};

EngineOptions options_of(const Case& members) {
    EngineOptions options = options_for(
        synth_model("llama", "layers=3,width=512,heads=8,ffn=768,vocab=300,ctx=256", "Q4_0"), 256);
    options.devices = members.devices;
    options.threads = members.threads;
    options.split.stepped = members.stepped;
    return options;
}

class RunTimesTest : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Members, RunTimesTest, testing::ValuesIn(kCases),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(RunTimesTest, AddUpToTheStepsTime) {
    Engine engine(options_of(GetParam()));
    device::Device& device = *engine.prepared().device;
    const std::vector<int32_t> ids = random_ids(kSteps * 64, 300, 1);
    const std::vector<float> untimed = all_logits(engine, ids);
    for (const RunTimes& times : device.run_times())
        EXPECT_EQ(times.all() + static_cast<double>(times.runs), 0);

    // Whatever else runs may hold up the host between two runs: what it does itself takes little.
    double most_told = 0;
    for (int round = 0; round < 10 && most_told < 0.8; ++round) {
        device.time_runs(true);
        const auto begin = std::chrono::steady_clock::now();
        const std::vector<float> timed = all_logits(engine, ids);
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
        device.time_runs(false);
        EXPECT_EQ(timed, untimed);
        const std::vector<RunTimes> all = device.run_times();
        ASSERT_EQ(all.size(), std::max<size_t>(1, device.describe().members.size()));
        for (const RunTimes& times : all) {
            EXPECT_EQ(times.runs, kSteps);
            EXPECT_GT(times.compute, 0);
            EXPECT_EQ(times.reduce > 0, all.size() > 1);
            EXPECT_GE(times.wait, 0);
            EXPECT_LE(times.all(), elapsed.count());
            EXPECT_NEAR(times.all(), all[0].all(), 1e-9);
        }
        most_told = std::max(most_told, all[0].all() / elapsed.count());
    }
    EXPECT_GE(most_told, 0.8);
}

TEST(RunTimes, MembersOfOneThreadWaitForEachOther) {
    Engine engine(options_of({"", "cpu:0,cpu:0"}));
    device::Device& device = *engine.prepared().device;
    device.time_runs(true);
    all_logits(engine, random_ids(64, 300, 1));
    const std::vector<RunTimes> times = device.run_times();
    ASSERT_EQ(times.size(), 2u);
    EXPECT_GE(times[0].wait, times[1].compute);
    EXPECT_GE(times[1].wait, times[0].compute);
}

}  // namespace
}  // namespace plait::system_test
