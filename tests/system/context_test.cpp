#include <gtest/gtest.h>

#include "plait/base/error.h"
#include "plait/engine/memory_fit.h"
#include "support.h"

// How long a context nobody asked for is, and whether what is said of memory is what is taken.
namespace plait::system_test {
namespace {

using engine::EngineOptions;
using engine::Prepared;

EngineOptions options_on(const std::string& devices, int64_t context) {
    EngineOptions options;
    options.model =
        synth_model("llama", "layers=2,width=128,heads=4,kv_heads=4,ffn=256,vocab=2000,ctx=4096", "F16")
            .string();
    options.devices = devices;
    options.context = context;
    options.micro_batch = 16;
    return options;
}

int64_t needed_with(int64_t context) { return engine::prepare(options_on("sim", context)).memory.total(); }

TEST(Context, IsTheTrainedLengthWhereMemoryAllows) {
    EXPECT_EQ(engine::prepare(options_on("sim", -1)).options.context, 4096);
    EXPECT_EQ(engine::prepare(options_on("sim", 0)).options.context, 4096);
    EXPECT_EQ(engine::prepare(options_on("sim", 100)).options.context, 100);
}

TEST(Context, TakesAtMostHalfOfTheMemoryAndLeavesRoomForTheWeights) {
    for (const int64_t room_for : {300, 1000, 3000}) {
        const int64_t memory = needed_with(room_for);
        const Prepared prepared = engine::prepare(options_on("sim:" + std::to_string(memory), -1));
        EXPECT_LE(prepared.memory.total(), memory);
        EXPECT_NO_THROW(engine::require_memory(prepared));
        EXPECT_GE(prepared.options.context, 100) << "room for " << room_for;
        EXPECT_LE(prepared.options.context, room_for + 64);
    }
}

TEST(Context, AskedForIsNotShortened) {
    const int64_t memory = needed_with(300);
    const Prepared prepared = engine::prepare(options_on("sim:" + std::to_string(memory), 1000));
    EXPECT_EQ(prepared.options.context, 1000);
    EXPECT_THROW(engine::require_memory(prepared), Error);
    EXPECT_THROW(engine::Engine{options_on("sim:" + std::to_string(memory), 1000)}, Error);
}

TEST(Context, BeyondWhatPositionsCanCountIsAnError) {
    EXPECT_THROW(engine::prepare(options_on("cpu", int64_t{1} << 31)), Error);
    EXPECT_THROW(engine::prepare(options_on("cpu", -2)), Error);
}

}  // namespace
}  // namespace plait::system_test
