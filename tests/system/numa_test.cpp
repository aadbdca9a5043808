#include <gmock/gmock.h>

#include <map>
#include <set>

#include "plait/base/recording_binder.h"
#include "support.h"

// A model over the NUMA nodes of an imagined machine: what would be bound is kept, nothing is.
namespace plait::system_test {
namespace {

using engine::EngineOptions;

struct Imagined {
    explicit Imagined(const ImaginedMachine& machine)
        : cores(std::make_unique<Cores>(imagine_cores(machine), std::move(recorded))) {}

    std::unique_ptr<RecordingBinder> recorded = std::make_unique<RecordingBinder>();
    const RecordingBinder& binder = *recorded;
    std::unique_ptr<Cores> cores;
};

EngineOptions options_on(const char* devices) {
    EngineOptions options = options_for(synth_model("llama", "tiny", "Q8_0"), 128);
    options.devices = devices;
    return options;
}

TEST(Numa, UnevenNodesSayWhatAnyTwoMembersSay) {
    const auto ids = random_ids(40, 400, 1);
    const auto expected = all_logits(options_on("cpu*2"), ids);
    Imagined machine({.topology = "numa:2 core:2 pu:1", .usable = {0, 1, 3}});
    EngineOptions options = options_on("cpu:numa");
    options.threads = 3;
    engine::Engine engine(prepare(options, std::move(machine.cores)));
    EXPECT_EQ(all_logits(engine, ids), expected) << "bit for bit";
    for (const auto& collective : engine.prepared().programs.back()->collectives())
        EXPECT_NE(collective.place, device::CollectivePlace::between_programs);
    std::set<int> cpus;
    for (const RecordingBinder::Thread& thread : machine.binder.threads()) cpus.insert(thread.cpu);
    EXPECT_THAT(cpus, testing::ElementsAre(0, 1, 3));
}

TEST(Numa, AllThatAMemberHoldsIsBoundToItsNode) {
    Imagined machine({.topology = "numa:3 core:1 pu:1"});
    engine::Engine engine(prepare(options_on("cpu:numa"), std::move(machine.cores)));
    std::map<int, int64_t> bound;
    for (const RecordingBinder::Memory& memory : machine.binder.memory())
        bound[memory.node] += static_cast<int64_t>(memory.bytes);
    const std::vector<int64_t> held = engine.stored_bytes();
    EXPECT_EQ(bound, (std::map<int, int64_t>{{0, held[0]}, {1, held[1]}, {2, held[2]}}));
    for (size_t member = 0; member < 3; ++member) {
        const engine::MemoryNeeds& needs = engine.prepared().members[member];
        EXPECT_EQ(needs.mapped_weights, 0) << "pages of files lie anywhere";
        EXPECT_GT(needs.weights, 0);
        EXPECT_EQ(engine.prepared().device->describe().member(member).memory,
                  "node" + std::to_string(member));
    }
}

TEST(Numa, OneNodeIsOneMember) {
    Imagined machine({.topology = "numa:1 core:2 pu:1"});
    const engine::Prepared prepared = prepare(options_on("cpu:numa"), std::move(machine.cores));
    EXPECT_EQ(prepared.device->describe().name, "cpu");
    EXPECT_EQ(prepared.device->describe().memory, "host");
    EXPECT_NE(prepared.device_notes, "");
}

}  // namespace
}  // namespace plait::system_test
