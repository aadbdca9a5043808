#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "plait/engine/text_run.h"
#include "plait/ir/test_support.h"
#include "plait/models/golden_data.h"
#include "support.h"

// On one device a token's logits depend on its own text and on nothing else, bit for bit.
namespace plait::system_test {
namespace {

using engine::Engine;
using engine::EngineOptions;
using engine::Feed;
using engine::Logits;
using engine::SequenceId;

// How the engine computes: each must keep the law.
struct Way {
    const char* name;
    bool exact;
    const char* simd;
    dtype::DType cache;
    size_t prompt;
};

// Sanitizers slow everything down tenfold, and so does the scalar level: there shorter texts cover the same
// pages and chunks, only fewer of them.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kLong = 150;
#else
constexpr size_t kLong = 700;
#endif
constexpr size_t kShort = 150;

constexpr Way kWays[] = {
    {"default", false, "best", dtype::DType::F16, kLong},
    {"exact", true, "best", dtype::DType::F32, kLong},
    {"scalar", false, "scalar", dtype::DType::BF16, kShort},
    {"q8_cache", false, "best", dtype::DType::Q8_0, kLong},
    {"q4_cache", false, "best", dtype::DType::Q4_0, kLong},
};

EngineOptions way_options(const std::filesystem::path& model, int64_t context, const Way& way) {
    EngineOptions options = options_for(model, context);
    options.exact = way.exact;
    options.simd = way.simd;
    options.key_type = options.value_type = way.cache;
    return options;
}

class BitsTest : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Ways, BitsTest, testing::ValuesIn(kWays),
                         [](const auto& way) { return std::string(way.param.name); });

// Models of unlike shapes: an odd head count that makes groups of three, experts, and windows that are a
// fraction of the text, with capped scores in one and sinks in the other.
std::vector<std::filesystem::path> models() {
    return {synth_model("llama", "layers=2,width=192,heads=6,kv_heads=2,ffn=224,vocab=300,ctx=1024", "Q4_0"),
            synth_model("llama",
                        "layers=2,width=128,heads=4,kv_heads=4,ffn=96,vocab=300,experts=5,used=2,ctx=1024",
                        "Q8_0"),
            synth_model("gemma2", "layers=2,width=64,heads=2,kv_heads=1,ffn=96,vocab=300,ctx=1024,window=40",
                        "Q4_1"),
            synth_model("gpt-oss",
                        "layers=2,width=64,heads=4,kv_heads=2,head_dim=32,ffn=64,vocab=300,experts=3,used=2,"
                        "ctx=1024,window=33",
                        "Q4_0")};
}

TEST_P(BitsTest, MicroBatchesThreadsAndPlacesDoNotMatter) {
    for (const auto& model : models()) {
        const std::vector<int32_t> ids = random_ids(GetParam().prompt, 300, 1);
        EngineOptions options = way_options(model, 1024, GetParam());
        options.micro_batch = 512;
        const std::vector<float> expected = all_logits(options, ids);
        ASSERT_EQ(expected.size(), ids.size() * 300);
        for (const int64_t micro_batch : {1, 7, 64}) {
            options.micro_batch = micro_batch;
            EXPECT_EQ(all_logits(options, ids), expected) << "micro-batch " << micro_batch;
        }
        options.micro_batch = 64;
        for (const int threads : {1, 5}) {
            options.threads = threads;
            EXPECT_EQ(all_logits(options, ids), expected) << threads << " threads";
        }
        options.threads = 2;
        options.testing.page_order_seed = 99;
        EXPECT_EQ(all_logits(options, ids), expected) << "shuffled pages";
        options.use_mapping = false;
        EXPECT_EQ(all_logits(options, ids), expected) << "copied weights";
    }
}

// Feeds each sequence its own ids in turns, `chunk` at a time, all in one step per turn; collects each one's
// logits.
class Interleaved {
  public:
    Interleaved(Engine& engine, std::vector<SequenceId> sequences, std::vector<std::vector<int32_t>> ids)
        : engine_(engine),
          sequences_(std::move(sequences)),
          ids_(std::move(ids)),
          logits_(ids_.size()),
          fed_(ids_.size()) {}

    void run(size_t chunk) {
        while (turn(chunk)) {
        }
    }

    const std::vector<float>& logits(size_t sequence) const { return logits_[sequence]; }

  private:
    bool turn(size_t chunk) {
        std::vector<Feed> feeds;
        std::vector<size_t> fed;
        for (size_t s = 0; s < ids_.size(); ++s) {
            const size_t now = std::min(chunk, ids_[s].size() - fed_[s]);
            if (now == 0) continue;
            feeds.push_back({sequences_[s], std::span(ids_[s]).subspan(fed_[s], now), Logits::all});
            fed.push_back(s);
        }
        if (feeds.empty()) return false;
        EXPECT_EQ(engine_.step(feeds), engine::Outcome::done);
        int64_t row = 0;
        for (size_t i = 0; i < feeds.size(); ++i) {
            for (size_t t = 0; t < feeds[i].tokens.size(); ++t, ++row) {
                const auto logits = engine_.logits(row);
                logits_[fed[i]].insert(logits_[fed[i]].end(), logits.begin(), logits.end());
            }
            fed_[fed[i]] += feeds[i].tokens.size();
        }
        return true;
    }

    Engine& engine_;
    const std::vector<SequenceId> sequences_;
    const std::vector<std::vector<int32_t>> ids_;
    std::vector<std::vector<float>> logits_;
    std::vector<size_t> fed_;
};

std::vector<int32_t> joined(std::vector<int32_t> first, const std::vector<int32_t>& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

std::vector<float> tail(const std::vector<float>& logits, size_t rows, size_t columns) {
    return {logits.end() - static_cast<std::ptrdiff_t>(rows * columns), logits.end()};
}

// Three texts with a shared beginning that ends inside a page, one freed and its pages used by a fourth.
TEST_P(BitsTest, NeighboursAndSharedBeginningsDoNotMatter) {
    constexpr size_t kColumns = 300;
    const size_t whole = GetParam().prompt;
    const size_t prefix_tokens = whole * 333 / 700;
    for (const auto& model : models()) {
        const std::vector<int32_t> prefix = random_ids(prefix_tokens, 300, 2);
        const std::vector<std::vector<int32_t>> tails = {random_ids(whole - prefix_tokens, 300, 3),
                                                         random_ids(whole / 5, 300, 4),
                                                         random_ids(whole / 4, 300, 5)};
        EngineOptions alone = way_options(model, 1024, GetParam());
        std::vector<std::vector<float>> expected;
        for (const auto& own : tails) {
            expected.push_back(tail(all_logits(alone, joined(prefix, own)), own.size(), kColumns));
        }
        const std::vector<int32_t> late = random_ids(whole / 3, 300, 6);
        const std::vector<float> expected_late = all_logits(alone, late);
        for (const size_t chunk : {1, 7, 64}) {
            EngineOptions options = alone;
            options.max_sequences = 3;
            options.micro_batch = 192;
            options.testing.page_order_seed = chunk;
            Engine engine(options);
            const std::vector<int64_t> free_at_first = free_pages(engine);
            const SequenceId first = engine.create_sequence();
            for (size_t begin = 0; begin < prefix_tokens; begin += 100) {
                const Feed feed{
                    first, std::span(prefix).subspan(begin, std::min<size_t>(100, prefix_tokens - begin)),
                    Logits::none};
                ASSERT_EQ(engine.step({&feed, 1}), engine::Outcome::done);
            }
            const std::vector<SequenceId> sequences = {first, engine.fork_sequence(first, prefix_tokens),
                                                       engine.fork_sequence(first, prefix_tokens)};
            Interleaved run(engine, sequences, tails);
            run.run(chunk);
            for (size_t s = 0; s < tails.size(); ++s)
                EXPECT_EQ(run.logits(s), expected[s]) << "chunk " << chunk << ", text " << s;
            engine.release_sequence(sequences[1]);
            Interleaved reuse(engine, {engine.create_sequence()}, {late});
            reuse.run(chunk);
            EXPECT_EQ(reuse.logits(0), expected_late) << "chunk " << chunk;
            for (const SequenceId sequence : {sequences[0], sequences[1], sequences[2]})
                engine.release_sequence(sequence);
            EXPECT_EQ(free_pages(engine), free_at_first);
        }
    }
}

// The golden models too, gpt2 among them.
TEST_P(BitsTest, GoldenModelsKeepTheirBits) {
    for (const char* name : {"arch/llama-dense", "arch/gpt2-dense", "quant/Q4_1"}) {
        const auto golden =
            plait::models::test::read_golden(plait::models::test::small_golden_folder(), name);
        EngineOptions options = way_options(golden.model, 256, GetParam());
        const std::vector<float> expected = all_logits(options, golden.ids);
        for (const int64_t micro_batch : {1, 7, 512}) {
            options.micro_batch = micro_batch;
            options.threads = micro_batch == 7 ? 5 : 1;
            EXPECT_EQ(all_logits(options, golden.ids), expected) << name << ", micro-batch " << micro_batch;
        }
    }
}

TEST(Bits, SimKeepsThemToo) {
    EngineOptions options = options_for(
        synth_model("llama", "layers=1,width=64,heads=2,kv_heads=1,ffn=64,vocab=300,ctx=256", "Q4_1"), 256);
    options.devices = "sim";
    const std::vector<int32_t> ids = random_ids(150, 300, 1);
    const std::vector<float> expected = all_logits(options, ids);
    options.micro_batch = 7;
    options.testing.page_order_seed = 5;
    EXPECT_EQ(all_logits(options, ids), expected);
}

TEST(Bits, TheCacheAgreesWithRecomputing) {
    for (const auto& model : models()) {
        EngineOptions options = options_for(model, 256);
        options.exact = true;
        options.key_type = options.value_type = dtype::DType::F32;
        Engine engine(options);
        const std::vector<int32_t> ids = random_ids(40, 300, 8);
        const std::vector<float> cached = all_logits(engine, ids);
        engine::TextRun text(engine, false);
        std::vector<float> recomputed;
        for (const int32_t& id : ids) {
            const auto keep = [&](std::span<const float> row) {
                recomputed.insert(recomputed.end(), row.begin(), row.end());
            };
            ASSERT_EQ(text.extend({&id, 1}, Logits::last, keep), engine::Outcome::done);
        }
        EXPECT_LE(ir::test::normalised_error(cached, recomputed), 1e-8);
    }
}

}  // namespace
}  // namespace plait::system_test
