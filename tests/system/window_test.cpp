#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "plait/base/error.h"
#include "plait/engine/prepared.h"
#include "plait/tools/plan_report.h"
#include "support.h"

// Layers that look at a window hold the window and no more, however long the text is.
namespace plait::system_test {
namespace {

using engine::Engine;
using engine::EngineOptions;
using engine::Feed;
using engine::Logits;
using engine::Outcome;
using engine::SequenceId;

constexpr int64_t kContext = 32768;
constexpr int64_t kWindow = 1024;
constexpr int64_t kMicroBatch = 512;
constexpr int64_t kPageTokens = 64;
constexpr int64_t kMostPages = (kWindow + kMicroBatch) / kPageTokens + 1;
constexpr int64_t kHeadWidth = 16;
constexpr int64_t kLocalLayers = 5;
constexpr int kLocal = 0;  // state groups
constexpr int kGlobal = 1;

// Sanitizers slow everything down tenfold: there a text of a few windows has to do.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int64_t kText = 4096;
#else
constexpr int64_t kText = kContext;
#endif

// Five local layers and a global one, one key/value head each.
EngineOptions long_options() {
    const auto model = synth_model("gemma3",
                                   "layers=6,width=32,heads=1,kv_heads=1,head_dim=16,ffn=32,vocab=300,"
                                   "ctx=32768,window=1024",
                                   "F16");
    EngineOptions options = options_for(model, kContext);
    options.micro_batch = kMicroBatch;
    options.page_tokens = kPageTokens;
    return options;
}

constexpr int64_t kGlobalPages = kContext / kPageTokens;

// Of pages of keys and values in F16, over the layers of a group.
int64_t bytes_of(int64_t pages, int64_t layers) { return pages * kPageTokens * 2 * 2 * kHeadWidth * layers; }

// Behind each layer's two tensors a device may ask for a little that its kernels read and ignore.
void expect_bytes(int64_t found, int64_t pages, int64_t layers) {
    EXPECT_GE(found, bytes_of(pages, layers));
    EXPECT_LE(found, bytes_of(pages, layers) + layers * 2 * 64);
}

TEST(Window, ThePlanHoldsAWindowAMicroBatchAndAPage) {
    const engine::Prepared prepared = engine::prepare(long_options());
    const auto plan = nlohmann::json::parse(tools::plan_json(tools::plan_report(prepared)));
    const auto& groups = plan.at("state_groups");
    ASSERT_EQ(groups.size(), 2u);
    EXPECT_EQ(groups[kLocal].at("window"), kWindow);
    EXPECT_EQ(groups[kLocal].at("pages"), kMostPages);
    expect_bytes(groups[kLocal].at("bytes"), kMostPages, kLocalLayers);
    EXPECT_EQ(groups[kGlobal].at("window"), 0);
    expect_bytes(groups[kGlobal].at("bytes"), kGlobalPages, 1);
    EXPECT_EQ(plan.at("members")[0].at("kv_bytes"),
              groups[kLocal].at("bytes").get<int64_t>() + groups[kGlobal].at("bytes").get<int64_t>());
}

TEST(Window, ARunHoldsNoMoreThanThat) {
    Engine engine(long_options());
    expect_bytes(engine.prepared().group_bytes(kLocal), kMostPages, kLocalLayers);
    EXPECT_EQ(engine.prepared().memory.state,
              engine.prepared().group_bytes(kLocal) + engine.prepared().group_bytes(kGlobal));
    const SequenceId sequence = engine.create_sequence();
    const std::vector<int32_t> ids = random_ids(static_cast<size_t>(kText), 300, 1);
    int64_t most = 0;
    for (int64_t begin = 0; begin < kText; begin += kMicroBatch) {
        const auto part = std::span(ids).subspan(static_cast<size_t>(begin), kMicroBatch);
        const Feed feed{sequence, part, Logits::none};
        ASSERT_EQ(engine.step({&feed, 1}), Outcome::done);
        most = std::max(most, engine.pages_in_use(kLocal));
    }
    EXPECT_EQ(most, kWindow / kPageTokens);  // between steps: of the last page nothing is used yet
    EXPECT_EQ(engine.pages_in_use(kGlobal), kText / kPageTokens);
    engine.release_sequence(sequence);
    EXPECT_EQ(engine.pages_in_use(kLocal), 0);
}

EngineOptions short_options() {
    const auto model = synth_model(
        "gemma2", "layers=2,width=64,heads=2,kv_heads=1,ffn=96,vocab=300,ctx=512,window=40", "Q4_0");
    EngineOptions options = options_for(model, 512);
    options.page_tokens = 16;
    options.max_sequences = 2;
    return options;
}

std::vector<float> last_logits(Engine& engine, SequenceId sequence, std::span<const int32_t> ids) {
    while (!ids.empty()) {
        const Feed feed{sequence, ids.first(std::min<size_t>(ids.size(), 64)), Logits::last};
        EXPECT_EQ(engine.step({&feed, 1}), Outcome::done);
        ids = ids.subspan(feed.tokens.size());
    }
    return {engine.logits(0).begin(), engine.logits(0).end()};
}

TEST(Window, GoingBackIsPossibleWhileTheWindowIsThereAndStartingOverAlways) {
    Engine engine(short_options());
    const std::vector<int32_t> ids = random_ids(212, 300, 2);
    const std::span<const int32_t> all(ids);
    const SequenceId sequence = engine.create_sequence();
    const std::vector<float> expected = last_logits(engine, sequence, all.first(205));
    last_logits(engine, sequence, all.subspan(205));
    const int64_t shortest = engine.shortest_cut(sequence);
    ASSERT_EQ(shortest, 199);  // its token looks at 160 and up, where a page begins
    EXPECT_THROW(engine.truncate_sequence(sequence, shortest - 1), Error);
    EXPECT_THROW(engine.fork_sequence(sequence, 1), Error);
    EXPECT_EQ(engine.length(sequence), 212);
    const SequenceId fork = engine.fork_sequence(sequence, shortest);
    const auto rest = all.first(205).subspan(static_cast<size_t>(shortest));
    EXPECT_EQ(last_logits(engine, fork, rest), expected);
    engine.truncate_sequence(sequence, shortest);
    EXPECT_EQ(last_logits(engine, sequence, rest), expected);
    engine.truncate_sequence(sequence, 0);
    EXPECT_EQ(last_logits(engine, sequence, all.first(205)), expected);
    engine.release_sequence(sequence);
    engine.release_sequence(fork);
}

// Of the same memory a model with windows makes more context.
TEST(Window, TheDefaultContextCountsWhatGroupsHold) {
    const auto context_of = [](const char* size) {
        EngineOptions options;
        options.model = synth_model("gemma3", size, "F16").string();
        options.devices = "sim:8M";
        options.micro_batch = 64;
        return engine::prepare(options).options.context;
    };
    const int64_t wide =
        context_of("layers=6,width=64,heads=2,kv_heads=2,ffn=32,vocab=300,ctx=8192,window=8192");
    const int64_t narrow =
        context_of("layers=6,width=64,heads=2,kv_heads=2,ffn=32,vocab=300,ctx=8192,window=128");
    EXPECT_LT(wide, 4096);
    EXPECT_GT(narrow, wide * 2);
}

}  // namespace
}  // namespace plait::system_test
