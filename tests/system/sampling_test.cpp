#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>

#include "plait/choice/gumbel.h"
#include "plait/engine/generate.h"
#include "support.h"

// Tokens chosen from what members answer about their slices of the logits, against those that a sampler
// chooses from whole rows of one device. PLAIT_LARGE asks for longer texts.
namespace plait::system_test {
namespace {

using engine::Engine;
using engine::EngineOptions;
using engine::Feed;
using engine::Logits;
using engine::Outcome;
using sample::Params;
using sample::Sampler;

constexpr int64_t kVocabulary = 1003;
constexpr float kMasked = -std::numeric_limits<float>::infinity();

int64_t text_length() { return std::getenv("PLAIT_LARGE") != nullptr ? 400 : 40; }

EngineOptions options_with(const std::string& devices, int64_t candidates) {
    EngineOptions options = options_for(
        synth_model("llama", "layers=2,width=96,heads=6,kv_heads=3,ffn=96,vocab=1003,ctx=1024", "F16"), 512);
    options.devices = devices;
    options.candidates = candidates;
    options.max_outputs = 2;
    options.max_sequences = 2;
    return options;
}

std::vector<std::pair<std::string, Params>> kinds() {
    std::map<std::string, Params> made;
    for (const double temperature : {0.0, 0.7, 1.5}) {
        const auto add = [&](const char* name, Params params) {
            params.temperature = temperature;
            params.seed = 11;
            made[fmt::format("{} at {}", name, temperature)] = std::move(params);
        };
        add("default", {});
        add("no filter", {.top_k = 0, .top_p = 1, .min_p = 0});
        add("top-k", {.top_k = 20, .top_p = 1, .min_p = 0});
        add("top-p", {.top_k = 0, .top_p = 0.6, .min_p = 0});
        add("min-p", {.top_k = 0, .top_p = 1, .min_p = 0.5});
        add("penalties", {.repeat_penalty = 1.2, .presence_penalty = 0.1, .frequency_penalty = 0.1});
        add("biases", {.biases = {{3, 4.5f}, {500, kMasked}, {1002, 3.5f}}, .top_k = 0, .top_p = 0.9});
    }
    return {made.begin(), made.end()};
}

const std::vector<int32_t>& prompt() {
    static const std::vector<int32_t> ids = random_ids(20, kVocabulary, 3);
    return ids;
}

// What whole rows of one device give, with the rows.
struct Text {
    std::vector<int32_t> tokens;
    std::vector<std::vector<float>> rows;
};

Text text_from_rows(Engine& one, const Params& params) {
    Text text;
    engine::TextRun run(one);
    Sampler sampler(params, kVocabulary, 0);
    for (const int32_t token : prompt()) sampler.accept(token);
    const auto choose = [&](std::span<const float> row) {
        text.rows.emplace_back(row.begin(), row.end());
        text.tokens.push_back(sampler.sample(row, run.length()));
        sampler.accept(text.tokens.back());
    };
    run.extend(prompt(), Logits::last, choose);
    for (int64_t i = 1; i < text_length(); ++i) {
        const int32_t last = text.tokens.back();
        run.extend({&last, 1}, Logits::last, choose);
    }
    return text;
}

// How far apart two tokens' perturbed logits lie: what rounding may turn around.
double distance(const Params& params, const std::vector<float>& row, int64_t position, int32_t a, int32_t b) {
    const auto perturbed = [&](int32_t id) {
        const double noise = choice::gumbel({.seed = params.seed, .position = position}, id);
        return row[static_cast<size_t>(id)] + std::max(0.0, params.temperature) * noise;
    };
    return std::abs(perturbed(a) - perturbed(b));
}

// The same text token by token, each behind the ones that it should have.
void expect_text(Engine& engine, const Params& params, const Text& expected, bool same_bits) {
    engine::TextRun run(engine);
    Sampler sampler(params, kVocabulary, 0);
    for (const int32_t token : prompt()) sampler.accept(token);
    std::vector<int32_t> next = prompt();
    for (size_t i = 0; i < expected.tokens.size(); ++i) {
        const auto token = run.choose_next(next, sampler);
        ASSERT_TRUE(token.has_value());
        const int32_t wanted = expected.tokens[i];
        if (*token != wanted) {
            ASSERT_FALSE(same_bits) << "token " << i;
            ASSERT_LT(distance(params, expected.rows[i], run.length(), *token, wanted), 1e-4)
                << "token " << i;
        }
        sampler.accept(wanted);
        next = {wanted};
    }
}

class SamplingTest : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Devices, SamplingTest,
                         testing::Values("cpu", "cpu*2", "cpu*3", "cpu*5", "sim", "cpu,sim"),
                         [](const auto& devices) {
                             std::string name = devices.param;
                             std::ranges::replace_if(
                                 name, [](char c) { return c == '*' || c == ','; }, '_');
                             return name;
                         });

TEST_P(SamplingTest, ChoosesAsFromWholeRowsOfOneDevice) {
    Engine one(options_with("cpu", 0));
    Engine few(options_with(GetParam(), 8)), many(options_with(GetParam(), 256));
    for (const auto& [name, params] : kinds()) {
        SCOPED_TRACE(name);
        const Text expected = text_from_rows(one, params);
        const bool same_bits = std::string(GetParam()) == "cpu";
        expect_text(few, params, expected, same_bits);
        expect_text(many, params, expected, same_bits);
    }
    EXPECT_GT(few.gathered_rows(), 0);
    EXPECT_LT(many.gathered_rows(), few.gathered_rows());
    EXPECT_EQ(one.gathered_rows(), 0);
}

TEST_P(SamplingTest, ReadsNoRowThatFiltersDoNotNeed) {
    Engine engine(options_with(GetParam(), 40));
    const auto gathered = [&](const Params& params) {
        return generate(engine, prompt(), {.sampling = params, .max_tokens = 10}, [](int32_t) {})
            .gathered_rows;
    };
    EXPECT_EQ(gathered({}), 0) << "the defaults keep 40";
    EXPECT_EQ(gathered({.temperature = 0}), 0);
    EXPECT_EQ(gathered({.repeat_penalty = 1.3, .temperature = 0}), 0);
    EXPECT_EQ(gathered({.top_k = 0, .top_p = 1, .min_p = 0, .temperature = 1.5}), 0);
    EXPECT_EQ(gathered({.top_k = 0, .top_p = 0.999, .min_p = 0}), 10);
    Params biased{.temperature = 0};
    for (int32_t id = 0; id < 900; ++id) biased.biases.push_back({id, 0.5f});
    EXPECT_EQ(gathered(biased), 10) << "more changes than a step has room for";
}

TEST_P(SamplingTest, ManyBiasesGiveTheSameToken) {
    Params params{.temperature = 0.9, .seed = 4};
    for (int32_t id = 0; id < 900; ++id)
        params.biases.push_back({id, id % 3 == 0 ? kMasked : 0.01f * float(id % 50)});
    Engine one(options_with("cpu", 0)), engine(options_with(GetParam(), 256));
    expect_text(engine, params, text_from_rows(one, params), std::string(GetParam()) == "cpu");
}

// Rows that are chosen from and rows that are read, in one step.
TEST_P(SamplingTest, ARowIsReadBesideOneThatIsChosenFrom) {
    EngineOptions options = options_with(GetParam(), 64);
    options.max_outputs = 4;
    Engine engine(options);
    const engine::SequenceId a = engine.create_sequence(), b = engine.create_sequence();
    Sampler sampler({.seed = 8}, kVocabulary, 0);
    const std::vector<int32_t> ids = random_ids(3, kVocabulary, 9);
    const Feed feeds[] = {{.sequence = a, .tokens = ids, .logits = Logits::all},
                          {.sequence = b, .tokens = ids, .logits = Logits::last, .sampler = &sampler}};
    ASSERT_EQ(engine.step(feeds), Outcome::done);
    ASSERT_EQ(engine.logit_rows(), 4);
    const std::vector<float> last(engine.logits(2).begin(), engine.logits(2).end());
    EXPECT_EQ(std::vector<float>(engine.logits(3).begin(), engine.logits(3).end()), last) << "the same text";
    EXPECT_EQ(engine.choose(3, sampler), sampler.sample(last, 3));
}

// With nothing but the rows' own data, whatever stands beside them.
TEST_P(SamplingTest, EverySequenceHasParametersOfItsOwn) {
    Engine engine(options_with(GetParam(), 8));
    const engine::SequenceId a = engine.create_sequence(), b = engine.create_sequence();
    Sampler greedy({.temperature = 0}, kVocabulary, 0);
    Sampler hot({.top_k = 0, .top_p = 0.999, .min_p = 0, .temperature = 1.5, .seed = 2}, kVocabulary, 1);
    const std::vector<int32_t> ids = random_ids(5, kVocabulary, 9);
    const auto alone = [&](Sampler& sampler) {
        const Feed feed{.sequence = a, .tokens = ids, .sampler = &sampler};
        EXPECT_EQ(engine.step({&feed, 1}), Outcome::done);
        engine.truncate_sequence(a, 0);
        return engine.choose(0, sampler);
    };
    const int32_t first = alone(greedy), second = alone(hot);
    const Feed feeds[] = {{.sequence = a, .tokens = ids, .sampler = &greedy},
                          {.sequence = b, .tokens = ids, .sampler = &hot}};
    ASSERT_EQ(engine.step(feeds), Outcome::done);
    EXPECT_EQ(engine.choose(0, greedy), first);
    EXPECT_EQ(engine.choose(1, hot), second);
    EXPECT_EQ(engine.gathered_rows(), 2) << "of the second sampler, in the first row and in the second";
    EXPECT_NE(first, second);
}

}  // namespace
}  // namespace plait::system_test
