#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "plait/base/error.h"
#include "support.h"

// Members that hold something alike are compared bit for bit, when asked for: a difference ends the step.
namespace plait::system_test {
namespace {

using engine::Engine;
using engine::EngineOptions;
using engine::Feed;
using engine::Logits;
using engine::Outcome;
using engine::SequenceId;
using testing::AllOf;
using testing::HasSubstr;

// Flips a bit of the n-th value that goes to a member.
struct Spoiler {
    int countdown = -1;  // < 0: never
    int member = 0;
    int seen = 0;

    void move(const collectives::Move& move, std::span<std::byte> value) {
        if (move.to != member) return;
        ++seen;
        if (countdown < 0 || countdown-- > 0) return;
        value[4] ^= std::byte{0x10};  // of the second number
    }
};

EngineOptions checked_options(const char* devices, Spoiler& spoiler, collectives::Way way) {
    EngineOptions options = options_for(
        synth_model(
            "olmoe",
            "layers=2,width=96,heads=3,kv_heads=3,head_dim=32,ffn=96,vocab=301,experts=4,used=3,ctx=64",
            "Q8_0"),
        64);
    options.devices = devices;
    options.split.reduce = way;
    options.split.embedding = plan::EmbeddingSplit::hidden;  // so that something is gathered
    options.split.check_members = true;
    options.split.on_move = [&spoiler](const collectives::Move& move, std::span<std::byte> value) {
        spoiler.move(move, value);
    };
    return options;
}

Outcome feed(Engine& engine, SequenceId sequence, const std::vector<int32_t>& ids) {
    const Feed feed{sequence, ids, Logits::all};
    return engine.step({&feed, 1});
}

std::string error_of(Engine& engine, SequenceId sequence, const std::vector<int32_t>& ids) {
    try {
        feed(engine, sequence, ids);
    } catch (const Error& error) {
        return error.what();
    }
    return "none";
}

using Setting = std::tuple<const char*, collectives::Way>;
class CheckMembers : public testing::TestWithParam<Setting> {};
INSTANTIATE_TEST_SUITE_P(Settings, CheckMembers,
                         testing::Combine(testing::Values("cpu*2", "cpu*3", "cpu,sim", "sim,cpu,sim"),
                                          testing::Values(collectives::Way::direct,
                                                          collectives::Way::butterfly)));

// Whatever of a collective is spoilt on its way to one member, that member's result is another.
TEST_P(CheckMembers, FindEveryDifferenceAndGoOnAfterwards) {
    const auto& [devices, way] = GetParam();
    Spoiler spoiler;
    Engine engine(checked_options(devices, spoiler, way));
    const SequenceId sequence = engine.create_sequence();
    const std::vector<int32_t> ids = random_ids(5, 301, 1);
    spoiler.member = engine.prepared().device->describe().member_count() - 1;
    ASSERT_EQ(feed(engine, sequence, ids), Outcome::done);
    const std::vector<float> expected(engine.logits(4).begin(), engine.logits(4).end());
    engine.truncate_sequence(sequence, 0);
    const int moves = spoiler.seen;
    ASSERT_GE(moves, 1 + 2 + 2 * 2);  // the embedding, norms of queries and keys, two halves of two layers
    std::set<std::string> sentences;
    for (int move = 0; move < moves; ++move) {
        spoiler.countdown = move;
        const std::string error = error_of(engine, sequence, ids);
        EXPECT_THAT(error,
                    AllOf(HasSubstr(std::string(devices) + ": "), HasSubstr("should hold the same"),
                          HasSubstr("and " + std::to_string(spoiler.member) + " ("), HasSubstr("in value")))
            << move;
        sentences.insert(error);
        EXPECT_EQ(engine.length(sequence), 0);
    }
    EXPECT_GE(sentences.size(), 7u);  // a node each
    ASSERT_EQ(feed(engine, sequence, ids), Outcome::done);
    EXPECT_EQ(std::vector<float>(engine.logits(4).begin(), engine.logits(4).end()), expected);
}

TEST(CheckMembersOff, LooksAtNothing) {
    Spoiler spoiler;
    EngineOptions options = checked_options("cpu*2", spoiler, collectives::Way::direct);
    options.split.check_members = false;
    Engine engine(options);
    spoiler.countdown = 3;
    EXPECT_EQ(feed(engine, engine.create_sequence(), random_ids(5, 301, 1)), Outcome::done);
}

TEST(CheckMembersOn, ChangesNoBit) {
    Spoiler spoiler;
    EngineOptions options = checked_options("cpu*3", spoiler, collectives::Way::butterfly);
    const std::vector<int32_t> ids = random_ids(20, 301, 1);
    const std::vector<float> checked = all_logits(options, ids);
    options.split.check_members = false;
    EXPECT_EQ(all_logits(options, ids), checked);
}

}  // namespace
}  // namespace plait::system_test
