#include <gtest/gtest.h>

#include <algorithm>

#include "plait/backends/cpu/program.h"
#include "support.h"

// How often the workers of a CPU wait for each other.
namespace plait::system_test {
namespace {

// Barriers of the step for so many tokens.
int64_t barriers(const char* arch, const char* size, int64_t tokens) {
    engine::EngineOptions options = options_for(synth_model(arch, size, "Q4_K"), 64);
    options.devices = "cpu";
    const engine::Prepared prepared = engine::prepare(options);
    for (size_t i = 0; i < prepared.ladder.size(); ++i) {
        if (prepared.ladder[i].tokens < tokens) continue;
        const auto& program = dynamic_cast<const backends::cpu::CpuProgram&>(*prepared.programs[i]);
        const bool few = tokens <= backends::cpu::kFewTokens;
        return std::ranges::count_if(program.segment_list()[0].steps, [&](const backends::cpu::Step& step) {
            return step.barrier_before && !(few && step.no_barrier_if_few);
        });
    }
    return -1;
}

int64_t barriers_per_layer(const char* arch, int64_t tokens) {
    const int64_t two =
        barriers(arch, "layers=2,width=256,heads=4,kv_heads=2,ffn=512,vocab=300,ctx=64", tokens);
    const int64_t four =
        barriers(arch, "layers=4,width=256,heads=4,kv_heads=2,ffn=512,vocab=300,ctx=64", tokens);
    EXPECT_EQ((four - two) % 2, 0);
    return (four - two) / 2;
}

// Norm, queries with keys and values, rotated and stored, attention, its output with the sum; norm, gate with
// up and their product, down with the sum.
TEST(Barriers, ADenseLayerHasSeven) { EXPECT_EQ(barriers_per_layer("llama", 32), 7); }

// Every worker computes the norms for itself.
TEST(Barriers, WithOneTokenItHasFive) { EXPECT_EQ(barriers_per_layer("llama", 1), 5); }

TEST(Barriers, BiasesAndNormsOfHeadsNeedNoMore) {
    for (const char* arch : {"qwen2", "qwen3"}) {
        EXPECT_EQ(barriers_per_layer(arch, 32), 7) << arch;
        EXPECT_EQ(barriers_per_layer(arch, 1), 5) << arch;
    }
}

}  // namespace
}  // namespace plait::system_test
