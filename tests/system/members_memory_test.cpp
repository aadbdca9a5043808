#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "plait/tools/synth.h"
#include "support.h"

// What the plan says of memory is what the process takes, for a model large enough that nothing else counts.
// Runs when PLAIT_LARGE is set: it takes minutes and some gigabytes.
namespace plait::system_test {
namespace {

// Bytes of a field of /proc/self/status, which counts in KiB.
int64_t status_bytes(const std::string& field) {
    std::ifstream status("/proc/self/status");
    std::string word;
    while (status >> word) {
        int64_t kib = 0;
        if (word == field + ":" && status >> kib) return kib * 1024;
    }
    return 0;
}

class MembersMemory : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Weights, MembersMemory, testing::Bool(),
                         [](const auto& mapped) { return mapped.param ? "mapped" : "stored"; });

TEST_P(MembersMemory, AProcessGrowsByWhatItsMembersNeed) {
    if (std::getenv("PLAIT_LARGE") == nullptr) GTEST_SKIP() << "PLAIT_LARGE does not ask for it";
    constexpr int64_t kContext = 2048;
    const auto model = synth_model("llama", "1b,ctx=2048", "Q4_0");
    engine::EngineOptions options = options_for(model, kContext);
    options.devices = "cpu*2";
    options.micro_batch = 256;
    options.max_outputs = 1;
    options.use_mapping = GetParam();
    options.split.check_members = false;
    malloc_trim(0);
    const int64_t before = status_bytes("VmRSS");
    engine::Engine engine(options);
    const std::vector<int32_t> ids = random_ids(kContext, engine.vocabulary(), 1);
    const engine::SequenceId sequence = engine.create_sequence();
    for (int64_t begin = 0; begin < kContext; begin += options.micro_batch) {
        const engine::Feed feed{
            sequence,
            std::span(ids).subspan(static_cast<size_t>(begin), static_cast<size_t>(options.micro_batch)),
            engine::Logits::last};
        ASSERT_EQ(engine.step({&feed, 1}), engine::Outcome::done);
    }
    const int64_t grown = status_bytes("VmRSS") - before, most = status_bytes("VmHWM") - before;
    int64_t members = 0;
    for (const engine::MemoryNeeds& needs : engine.prepared().members) {
        fmt::print("a member: weights {}, mapped {}, state {}, compute {}\n", needs.weights,
                   needs.mapped_weights, needs.state, needs.compute);
        members += needs.total() + needs.mapped_weights;
    }
    fmt::print("members {} bytes, the process grew by {} ({:+.2f} %), at most {}\n", members, grown,
               100.0 * static_cast<double>(grown - members) / static_cast<double>(members), most);
    // What no plan counts: the programs, one for each capacity and member, some 24 MiB here.
    constexpr double kPrograms = 32 << 20;
    EXPECT_LE(static_cast<double>(grown), 1.01 * static_cast<double>(members) + kPrograms);
}

}  // namespace
}  // namespace plait::system_test
