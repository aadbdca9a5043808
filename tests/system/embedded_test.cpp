#include <dirent.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "plait/base/error.h"
#include "plait/tools/plan_report.h"
#include "support.h"

// Members on cores of one process run whole steps together; the host, which could step them from exchange to
// exchange, would get the same bits.
namespace plait::system_test {
namespace {

using engine::Engine;
using engine::EngineOptions;
using engine::Feed;
using engine::Logits;
using engine::Outcome;
using engine::SequenceId;

struct Case {
    const char* name;
    const char* devices;
    std::vector<double> shares = {};
    engine::SplitMode mode = engine::SplitMode::automatic;
    plan::EmbeddingSplit embedding = plan::EmbeddingSplit::automatic;
    int threads = 2;
};

const Case kCases[] = {
    {"two", "cpu*2"},
    {"three", "cpu*3"},
    {"four", "cpu*4"},
    {"seven", "cpu*7"},
    {"two_of_three_workers", "cpu*2", {}, engine::SplitMode::automatic, plan::EmbeddingSplit::automatic, 6},
    {"one_core", "cpu:0,cpu:0"},
    {"some_on_cores", "cpu,cpu:0"},
    {"unequal", "cpu*3", {5, 1, 2}},
    {"one_of_nothing", "cpu*3", {1, 0, 2}},
    {"all_to_one", "cpu*2", {1, 0}},
    {"table_by_ids", "cpu*3", {}, engine::SplitMode::automatic, plan::EmbeddingSplit::vocabulary},
    {"table_by_features", "cpu*3", {}, engine::SplitMode::automatic, plan::EmbeddingSplit::hidden},
    {"table_by_features_unequal",
     "cpu*3",
     {3, 0, 1},
     engine::SplitMode::automatic,
     plan::EmbeddingSplit::hidden},
    {"rows", "cpu*2", {}, engine::SplitMode::row},
    {"rows_unequal", "cpu*3", {1, 0, 2}, engine::SplitMode::row},
};

void PrintTo(const Case& tested, std::ostream* out) { *out << tested.name; }

struct Shape {
    const char* arch;
    const char* size;
};

void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.arch << ", " << shape.size; }

// What follows a sum differs: a sum with the stream, a bias before it, a norm, a scale, another sum; and so
// do the sums: over rows wide enough to be dealt to all threads with 64 tokens, over a number or two.
const Shape kShapes[] = {
    {"llama", "layers=3,width=512,heads=8,kv_heads=4,ffn=768,vocab=300,ctx=256"},
    {"llama", "layers=2,width=96,heads=6,kv_heads=3,ffn=160,vocab=300,experts=5,used=2,ctx=256"},
    {"olmoe", "layers=2,width=128,heads=4,kv_heads=2,ffn=64,vocab=300,experts=4,used=2,ctx=256"},
    {"granite", "layers=2,width=320,heads=4,kv_heads=2,ffn=96,vocab=300,ctx=256"},
    {"gemma2", "layers=2,width=384,heads=4,kv_heads=2,ffn=96,vocab=300,ctx=256,window=40"},
    {"gpt2", "layers=2,width=256,heads=4,ffn=256,vocab=300,ctx=256"},
    {"command-r", "layers=2,width=1280,heads=4,kv_heads=2,ffn=256,vocab=300,ctx=256"},
    {"gptneox", "layers=2,width=256,heads=4,ffn=256,vocab=300,ctx=256"},
};

EngineOptions options_of(const Case& members, const Shape& shape, bool stepped) {
    EngineOptions options = options_for(synth_model(shape.arch, shape.size, "Q4_0"), 256);
    options.devices = members.devices;
    options.threads = members.threads;
    options.split.shares = members.shares;
    options.split.mode = members.mode;
    options.split.embedding = members.embedding;
    options.split.stepped = stepped;
    return options;
}

// The members' segments: as many as the host has to do with.
int member_segments(const EngineOptions& options) {
    const engine::Prepared prepared = engine::prepare(options);
    const auto collectives = prepared.programs.back()->collectives();
    EXPECT_FALSE(collectives.empty());
    return static_cast<int>(std::ranges::count(collectives, device::CollectivePlace::between_programs,
                                               &device::CollectiveDescription::place));
}

class EmbeddedTest : public testing::TestWithParam<std::tuple<Shape, Case>> {};
INSTANTIATE_TEST_SUITE_P(Members, EmbeddedTest,
                         testing::Combine(testing::ValuesIn(kShapes), testing::ValuesIn(kCases)),
                         [](const auto& tested) {
                             const Shape& shape = std::get<0>(tested.param);
                             std::string name = std::string(shape.arch) +
                                                (std::strstr(shape.size, "experts") ? "_experts_" : "_") +
                                                std::get<1>(tested.param).name;
                             std::ranges::replace(name, '-', '_');
                             return name;
                         });

// A prompt in several micro-batches of unequal sizes, then tokens one by one.
std::vector<float> prompt_and_tokens(const EngineOptions& options) {
    Engine engine(options);
    const SequenceId sequence = engine.create_sequence();
    std::vector<float> logits;
    const auto feed = [&](size_t count, uint32_t seed) {
        const std::vector<int32_t> ids = random_ids(count, 300, seed);
        const Feed one{sequence, ids, Logits::all};
        ASSERT_EQ(engine.step({&one, 1}), Outcome::done);
        for (int64_t row = 0; row < engine.logit_rows(); ++row)
            logits.insert(logits.end(), engine.logits(row).begin(), engine.logits(row).end());
    };
    for (const size_t count : {64, 37, 1, 1, 5, 4, 3, 1}) feed(count, static_cast<uint32_t>(count));
    engine.release_sequence(sequence);
    return logits;
}

TEST_P(EmbeddedTest, GivesTheBitsOfTheSteppedMembers) {
    const auto& [shape, members] = GetParam();
    const EngineOptions stepped = options_of(members, shape, true);
    const EngineOptions embedded = options_of(members, shape, false);
    EXPECT_GT(member_segments(stepped), 0);
    EXPECT_EQ(member_segments(embedded), 0);
    const std::vector<float> expected = prompt_and_tokens(stepped);
    ASSERT_EQ(expected.size(), 116u * 300);
    EXPECT_EQ(prompt_and_tokens(embedded), expected);
}

EngineOptions forced(const char* devices, collectives::Way way) {
    EngineOptions options = options_of({"", devices}, kShapes[1], false);
    options.split.reduce = way;
    return options;
}

TEST(Embedded, WaysThatHandOverAreStepped) {
    EXPECT_EQ(member_segments(forced("cpu*3", collectives::Way::direct)), 0);
    EXPECT_GT(member_segments(forced("cpu*3", collectives::Way::pairwise)), 0);
    EXPECT_GT(member_segments(forced("cpu*3", collectives::Way::butterfly)), 0);
    EXPECT_GT(member_segments(forced("cpu,sim", collectives::Way::direct)), 0);
}

// --- threads

// Processor time of the process's threads in ticks, by thread.
std::map<int, long> thread_ticks() {
    std::map<int, long> ticks;
    DIR* tasks = opendir("/proc/self/task");
    while (const dirent* entry = readdir(tasks)) {
        if (entry->d_name[0] == '.') continue;
        std::ifstream file(std::string("/proc/self/task/") + entry->d_name + "/stat");
        std::string line;
        std::getline(file, line);
        std::istringstream fields(line.substr(line.rfind(')') + 2));
        std::string skipped;
        for (int field = 3; field < 14; ++field) fields >> skipped;
        long user = 0, system = 0;
        fields >> user >> system;
        ticks[std::atoi(entry->d_name)] = user + system;
    }
    closedir(tasks);
    return ticks;
}

// Four members on two cores: two threads work, and share the work.
TEST(Embedded, MembersThatShareCoresShareThreads) {
    if (detect_cores().cpus.size() < 2) GTEST_SKIP() << "needs two cores";
    constexpr long kTicks = 40;  // enough to tell who works
    Engine engine(options_of({"", "cpu*4"}, kShapes[0], false));
    const std::vector<int32_t> ids = random_ids(64, 300, 1);
    const auto work = [&] {
        const SequenceId sequence = engine.create_sequence();
        const Feed feed{sequence, ids, Logits::none};
        ASSERT_EQ(engine.step({&feed, 1}), Outcome::done);
        int32_t id = 1;
        const Feed token{sequence, {&id, 1}, Logits::last};
        for (int i = 0; i < 150; ++i) ASSERT_EQ(engine.step({&token, 1}), Outcome::done);
        engine.release_sequence(sequence);
    };
    work();
    const std::map<int, long> before = thread_ticks();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    int working = 0;
    for (long all = 0; all < kTicks && std::chrono::steady_clock::now() < end;) {
        work();
        all = working = 0;
        for (const auto& [thread, ticks] : thread_ticks()) {
            const auto known = before.find(thread);
            const long own = ticks - (known == before.end() ? 0 : known->second);
            all += own;
            if (own > 1) ++working;
        }
    }
    EXPECT_LE(working, 2);
    EXPECT_GE(working, 1);
}

// --- cancelling

// Wherever the members are when the word is set, all leave, and the next step is as if nothing had been.
TEST(Embedded, ACancelledStepLeavesNoTrace) {
    for (const char* devices : {"cpu*2", "cpu*3", "cpu:0,cpu:0"}) {
        Engine engine(options_of({"", devices}, kShapes[0], false));
        const std::vector<int32_t> ids = random_ids(64, 300, 1);
        const auto run = [&](std::chrono::microseconds cancel_after) {
            const SequenceId sequence = engine.create_sequence();
            std::atomic<bool> begun{false};
            std::thread canceller([&] {
                while (!begun) std::this_thread::yield();
                if (cancel_after.count() == 0) return;
                std::this_thread::sleep_for(cancel_after);
                engine.stop().cancel();
            });
            const Feed feed{sequence, ids, Logits::last};
            begun = true;
            const Outcome outcome = engine.step({&feed, 1});
            canceller.join();
            std::vector<float> logits;
            if (outcome == Outcome::done) logits.assign(engine.logits(0).begin(), engine.logits(0).end());
            engine.stop().reset();
            engine.release_sequence(sequence);
            return logits;
        };
        const std::vector<float> expected = run({});
        ASSERT_EQ(expected.size(), 300u);
        int cancelled = 0;
        for (int i = 0; i < 40; ++i) {
            const std::vector<float> logits = run(std::chrono::microseconds(20 + 150 * i));
            if (logits.empty()) {
                ++cancelled;
            } else {
                EXPECT_EQ(logits, expected);
            }
            EXPECT_EQ(run({}), expected) << devices << ", round " << i;
        }
        EXPECT_GT(cancelled, 0) << devices;
    }
}

}  // namespace
}  // namespace plait::system_test
