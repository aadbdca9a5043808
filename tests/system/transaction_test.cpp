#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "plait/base/error.h"
#include "support.h"

// A step that is cancelled or fails leaves no trace: the next one gives the bits it would have given.
namespace plait::system_test {
namespace {

using engine::Engine;
using engine::EngineOptions;
using engine::Feed;
using engine::Logits;
using engine::Outcome;
using engine::SequenceId;

enum class Fault { error, cancel };

// Strikes at the n-th border from now on: behind a segment, where a tap sits, and whenever a value goes from
// one member to another.
struct Striker {
    int countdown = -1;  // < 0: never
    int borders = 0;     // seen so far
    Fault fault = Fault::error;
    StopWord* stop = nullptr;

    void border() {
        ++borders;
        if (countdown < 0 || countdown-- > 0) return;
        if (fault == Fault::error) throw Error("struck");
        stop->cancel();
    }
};

// Of three layers: without windows, or with one that the sequences below have outgrown.
struct Setting {
    const char* devices;
    const char* architecture;
    engine::SplitMode mode = engine::SplitMode::automatic;
    bool together = false;  // members run whole segments together: only taps are borders
};

std::filesystem::path model(const Setting& setting) {
    const bool windows = std::string(setting.architecture) != "llama";
    return synth_model(setting.architecture,
                       std::string("layers=3,width=64,heads=2,kv_heads=1,ffn=96,vocab=300,ctx=256") +
                           (windows ? ",window=20" : ""),
                       "Q4_0");
}

EngineOptions struck_options(const Setting& setting, Striker& striker) {
    EngineOptions options = options_for(model(setting), 256);
    options.devices = setting.devices;
    options.max_sequences = 2;
    options.page_tokens = 16;
    options.tap = [&striker](int, const std::string&, std::span<const float>) { striker.border(); };
    options.split.mode = setting.mode;
    if (setting.together) return options;
    options.split.check_members = true;
    options.split.on_move = [&striker](const collectives::Move&, std::span<std::byte>) { striker.border(); };
    return options;
}

// Two sequences that share an unfinished page: the step under test copies it, takes pages and writes.
struct Scene {
    explicit Scene(Engine& used) : engine(used), a(used.create_sequence()) {
        feed(a, random_ids(37, 300, 1));
        b = used.fork_sequence(a, 37);
    }
    ~Scene() {
        engine.release_sequence(a);
        engine.release_sequence(b);
    }

    void feed(SequenceId sequence, const std::vector<int32_t>& ids) {
        const Feed feed{sequence, ids, Logits::none};
        ASSERT_EQ(engine.step({&feed, 1}), Outcome::done);
    }

    // The step under test.
    Outcome step() {
        const std::vector<Feed> feeds = {{a, more_a, Logits::all}, {b, more_b, Logits::all}};
        return engine.step(feeds);
    }

    std::vector<float> logits() const {
        std::vector<float> all;
        for (int64_t row = 0; row < engine.logit_rows(); ++row) {
            all.insert(all.end(), engine.logits(row).begin(), engine.logits(row).end());
        }
        return all;
    }

    Engine& engine;
    SequenceId a = 0, b = 0;
    const std::vector<int32_t> more_a = random_ids(20, 300, 2), more_b = random_ids(13, 300, 3);
};

struct Undisturbed {
    std::vector<float> logits;
    int borders;  // of the step under test
};

Undisturbed undisturbed(const Setting& setting) {
    Striker striker;
    Engine engine(struck_options(setting, striker));
    Scene scene(engine);
    striker.borders = 0;
    EXPECT_EQ(scene.step(), Outcome::done);
    return {scene.logits(), striker.borders};
}

bool is_one_member(const Setting& setting) { return !std::strpbrk(setting.devices, "*,"); }

class TransactionTest : public testing::TestWithParam<Setting> {};
INSTANTIATE_TEST_SUITE_P(
    Settings, TransactionTest,
    testing::Values(Setting{"cpu", "llama"}, Setting{"sim", "llama"}, Setting{"cpu", "gemma2"},
                    Setting{"sim", "gemma2"}, Setting{"cpu*2", "llama"}, Setting{"cpu,sim", "llama"},
                    Setting{"cpu*2", "gemma2"}, Setting{"cpu,sim", "gemma2"},
                    Setting{"cpu,sim", "gemma2", engine::SplitMode::row},
                    Setting{.devices = "cpu*2", .architecture = "llama", .together = true},
                    Setting{.devices = "cpu*3", .architecture = "gemma2", .together = true}),
    [](const auto& setting) {
        std::string devices = setting.param.devices;
        std::ranges::replace_if(
            devices, [](char c) { return c == '*' || c == ','; }, '_');
        const bool rows = setting.param.mode == engine::SplitMode::row;
        return std::string(setting.param.architecture) + "_" + devices + (rows ? "_rows" : "") +
               (setting.param.together ? "_together" : "");
    });

TEST_P(TransactionTest, FaultsAtEverySegmentBorderLeaveNoTrace) {
    const auto [expected, borders] = undisturbed(GetParam());
    // Three layers, so three taps; among members two sums each as well, with a value each way.
    if (is_one_member(GetParam()) || GetParam().together) {
        EXPECT_EQ(borders, 3);
    } else {
        EXPECT_GE(borders, 3 + 3 * 2 * 2);
    }
    for (const Fault fault : {Fault::error, Fault::cancel}) {
        for (int border = 0; border < borders; ++border) {
            Striker striker;
            Engine engine(struck_options(GetParam(), striker));
            striker.stop = &engine.stop();
            Scene scene(engine);
            const std::vector<int64_t> free = free_pages(engine);
            striker.countdown = border;
            striker.fault = fault;
            if (fault == Fault::error) {
                EXPECT_THROW(scene.step(), Error);
            } else {
                EXPECT_EQ(scene.step(), Outcome::cancelled);
            }
            EXPECT_EQ(free_pages(engine), free);
            EXPECT_EQ(engine.length(scene.a), 37);
            EXPECT_EQ(engine.length(scene.b), 37);
            EXPECT_EQ(scene.step(), Outcome::done);
            EXPECT_EQ(scene.logits(), expected) << "border " << border;
        }
    }
}

TEST_P(TransactionTest, ACancellationBetweenStepsEndsTheNextOne) {
    Striker striker;
    Engine engine(struck_options(GetParam(), striker));
    Scene scene(engine);
    engine.stop().cancel();
    EXPECT_EQ(scene.step(), Outcome::cancelled);
    EXPECT_EQ(scene.step(), Outcome::done);
    EXPECT_EQ(scene.logits(), undisturbed(GetParam()).logits);
}

TEST_P(TransactionTest, EveryPageThatCannotBeTakenLeavesNoTrace) {
    const std::vector<float> expected = undisturbed(GetParam()).logits;
    int refused = 0;
    // Pages are taken until the step needs no more of them.
    for (int page = 0;; ++page) {
        Striker striker;
        std::optional<int> countdown;
        EngineOptions options = struck_options(GetParam(), striker);
        options.testing.page_fails = [&countdown] { return countdown && (*countdown)-- == 0; };
        Engine engine(options);
        Scene scene(engine);
        const std::vector<int64_t> free = free_pages(engine);
        countdown = page;
        try {
            ASSERT_EQ(scene.step(), Outcome::done);
            break;
        } catch (const Error&) {
            ++refused;
        }
        countdown.reset();
        EXPECT_EQ(free_pages(engine), free);
        EXPECT_EQ(scene.step(), Outcome::done);
        EXPECT_EQ(scene.logits(), expected) << "page " << page;
    }
    EXPECT_GE(refused, 3);
}

TEST(Transaction, RefusedStepsLeaveNoTrace) {
    constexpr Setting kPlain{"cpu", "llama"};
    Striker striker;
    Engine engine(struck_options(kPlain, striker));
    Scene scene(engine);
    const std::vector<int32_t> outside = {1, 300};
    const std::vector<int32_t> negative = {-1};
    const std::vector<int32_t> too_many(65, 1);
    for (const auto* ids : {&outside, &negative, &too_many}) {
        const Feed feed{scene.a, *ids, Logits::last};
        EXPECT_THROW(engine.step({&feed, 1}), Error);
    }
    for (int i = 0; i < 3; ++i) scene.feed(scene.a, random_ids(64, 300, 9));
    const Feed beyond{scene.a, scene.more_a, Logits::none};
    scene.feed(scene.a, random_ids(20, 300, 9));
    EXPECT_THROW(engine.step({&beyond, 1}), Error);  // the context ends at 256
    EXPECT_EQ(engine.length(scene.a), 249);
    engine.truncate_sequence(scene.a, 37);
    EXPECT_EQ(scene.step(), Outcome::done);
    EXPECT_EQ(scene.logits(), undisturbed(kPlain).logits);
}

}  // namespace
}  // namespace plait::system_test
