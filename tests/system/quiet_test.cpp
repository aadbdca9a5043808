#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "plait/base/allocation_count.h"
#include "plait/base/error.h"
#include "plait/engine/generate.h"
#include "plait/sample/sampler.h"
#include "support.h"

// What an engine must not do: allocate in its steps, use the processor while idle, fall over when memory runs
// out.
namespace plait::system_test {
namespace {

using engine::Engine;
using engine::EngineOptions;
using engine::Feed;
using engine::Logits;
using engine::Outcome;
using engine::SequenceId;

// Of the kind with most to do: experts, and a window that is left behind again and again.
std::filesystem::path model() {
    return synth_model("gpt-oss",
                       "layers=2,width=64,heads=2,kv_heads=1,ffn=64,vocab=300,experts=4,used=2,ctx=512,"
                       "window=20",
                       "Q4_1");
}

class QuietTest : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Devices, QuietTest, testing::Values("cpu", "sim", "cpu*2", "cpu,sim"),
                         [](const auto& devices) {
                             std::string name = devices.param;
                             std::ranges::replace_if(
                                 name, [](char c) { return c == '*' || c == ','; }, '_');
                             return name;
                         });

EngineOptions quiet_options(const char* devices) {
    EngineOptions options = options_for(model(), 512);
    options.devices = devices;
    options.max_sequences = 2;
    options.candidates = 8;  // so that some rows have to be read
    return options;
}

// Decoding of two sequences, sampling included, with prompts of another one in between.
TEST_P(QuietTest, TheSteadyStateAllocatesNothing) {
    Engine engine(quiet_options(GetParam()));
    const SequenceId a = engine.create_sequence();
    const SequenceId b = engine.fork_sequence(a, 0);
    sample::Sampler sampler({.repeat_penalty = 1.1, .seed = 1}, 300, 0);
    sample::Sampler wide({.top_k = 0, .top_p = 0.99, .min_p = 0, .seed = 1}, 300, 1);
    const std::vector<int32_t> prompt = random_ids(64, 300, 1);
    int32_t next[2] = {1, 2};
    Feed feeds[2];
    const auto decode = [&] {
        feeds[0] = {a, {&next[0], 1}, Logits::last, &sampler};
        feeds[1] = {b, {&next[1], 1}, Logits::last, &wide};
        ASSERT_EQ(engine.step(feeds), Outcome::done);
        next[0] = engine.choose(0, sampler);
        next[1] = engine.choose(1, wide);
        for (const int32_t token : next) sampler.accept(token);
    };
    for (int i = 0; i < 4; ++i) decode();
    const long before = allocation_count();
    for (int i = 0; i < 100; ++i) decode();
    feeds[0] = {a, prompt, Logits::last};
    ASSERT_EQ(engine.step({feeds, 1}), Outcome::done);
    for (int i = 0; i < 20; ++i) decode();
    EXPECT_EQ(allocation_count(), before);
    EXPECT_GT(engine.gathered_rows(), 100);
}

double process_seconds() {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST_P(QuietTest, AnIdleEngineUsesNoProcessor) {
    Engine engine(quiet_options(GetParam()));
    all_logits(engine, random_ids(20, 300, 1));
    const double before = process_seconds();
    std::this_thread::sleep_for(std::chrono::seconds(10));
    EXPECT_LT(process_seconds() - before, 0.1) << "1 % of 10 s";
}

// Whatever allocation fails, while loading or in a step, ends in an error, and the engine goes on with the
// same bits.
TEST_P(QuietTest, FailingAllocationsWhileLoadingAreErrors) {
    const EngineOptions options = quiet_options(GetParam());
    const std::vector<int32_t> ids = random_ids(20, 300, 1);
    const std::vector<float> expected = all_logits(options, ids);
    long failed = 0;
    // Every allocation of a load would be thousands of loads: strike ever farther apart.
    for (long n = 0;; n += 1 + n / 16) {
        bool happened = false;
        try {
            AllocationFailure failure(n);
            Engine engine(options);
            happened = failure.happened();
        } catch (const std::exception&) {
            happened = true;
        }
        if (!happened) break;
        ++failed;
    }
    EXPECT_GT(failed, 20);
    EXPECT_EQ(all_logits(options, ids), expected);
}

TEST_P(QuietTest, FailingAllocationsInAStepLeaveNoTrace) {
    const std::vector<int32_t> ids = random_ids(30, 300, 1);
    const std::vector<float> expected = all_logits(quiet_options(GetParam()), ids);
    Engine engine(quiet_options(GetParam()));
    for (long n = 0;; ++n) {
        const SequenceId sequence = engine.create_sequence();
        const Feed feed{sequence, ids, Logits::all};
        bool happened = false;
        try {
            AllocationFailure failure(n, AllocationScope::process);
            EXPECT_EQ(engine.step({&feed, 1}), Outcome::done);
            happened = failure.happened();
        } catch (const std::exception&) {
            happened = true;
            EXPECT_EQ(engine.length(sequence), 0);
            EXPECT_EQ(engine.step({&feed, 1}), Outcome::done);
        }
        for (size_t row = 0; row < ids.size(); ++row) {
            const auto logits = engine.logits(static_cast<int64_t>(row));
            ASSERT_TRUE(std::ranges::equal(logits, std::span(expected).subspan(row * 300, 300)));
        }
        engine.release_sequence(sequence);
        if (!happened) break;
    }
}

TEST(Quiet, SixtyFourThreadsOnFewCoresFinish) {
    EngineOptions options = options_for(model(), 512);
    const std::vector<int32_t> ids = random_ids(30, 300, 1);
    const std::vector<float> expected = all_logits(options, ids);
    options.threads = 64;
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(all_logits(options, ids), expected);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

}  // namespace
}  // namespace plait::system_test
