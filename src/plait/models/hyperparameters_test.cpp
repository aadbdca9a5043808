#include "plait/models/hyperparameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plait/base/error.h"
#include "plait/models/test_models.h"

namespace plait::models {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

using Metadata = std::map<std::string, test::MetadataValue>;

// Calls `read` with a reader of a file of these keys, to which "llama." is added.
template <class Read>
auto with_keys(const Metadata& keys, Read read) {
    test::Recipe recipe;
    for (const auto& [name, value] : keys) recipe.metadata["llama." + name] = value;
    const test::RecipeFile file(recipe);
    return read(KeyReader(file.file(), "llama"));
}

ir::RopeAngles rope(const Metadata& keys) {
    return with_keys(keys, [](const KeyReader& reader) { return read_rope(reader, 32, 4096); });
}

AttentionShape heads(const Metadata& keys) {
    return with_keys(keys, [](const KeyReader& reader) { return read_grouped_heads(reader, 24); });
}

std::optional<ExpertCounts> experts(const Metadata& keys) { return with_keys(keys, read_experts); }

template <class Read>
void expect_refused(Read read, const Metadata& keys, const std::string& sentence) {
    EXPECT_THAT([&] { read(keys); }, ThrowsMessage<Error>(HasSubstr(sentence)));
}

TEST(Rope, HasDefaults) {
    const ir::RopeAngles expected{.dims = 32, .base = 10000.0f, .scaling = ir::RopeScaling::linear};
    EXPECT_EQ(rope({}), expected);
}

TEST(Rope, ReadsLinearScaling) {
    const Metadata keys{{"rope.dimension_count", int64_t{20}}, {"rope.freq_base", 5e5f},
                        {"rope.scaling.type", "linear"},       {"rope.scaling.factor", 8.0f},
                        {"rope.scaling.attn_factor", 1.5f},    {"rope.scale_linear", 3.0f}};
    const ir::RopeAngles expected{.dims = 20,
                                  .base = 5e5f,
                                  .scaling = ir::RopeScaling::linear,
                                  .factor = 8.0f,
                                  .attention_factor = 1.5f};
    EXPECT_EQ(rope(keys), expected);
}

TEST(Rope, ReadsTheFactorOfOldFiles) {
    EXPECT_EQ(rope({{"rope.scale_linear", 4.0f}}).factor, 4.0f);
    EXPECT_EQ(rope({{"rope.scale_linear", 4.0f}}).scaling, ir::RopeScaling::linear);
}

TEST(Rope, KeepsAFactorThatNoneIgnores) {
    EXPECT_EQ(rope({{"rope.scaling.type", "none"}, {"rope.scaling.factor", 8.0f}}).scaling,
              ir::RopeScaling::none);
}

TEST(Rope, ReadsYarn) {
    EXPECT_EQ(rope({{"rope.scaling.type", "yarn"}}).original_context, 4096);
    const ir::RopeAngles found = rope({{"rope.scaling.type", "yarn"},
                                       {"rope.scaling.factor", 16.0f},
                                       {"rope.scaling.original_context_length", int64_t{1024}},
                                       {"rope.scaling.attn_factor", 2.0f},
                                       {"rope.scaling.yarn_attn_factor", 3.0f},
                                       {"rope.scaling.yarn_ext_factor", 0.5f},
                                       {"rope.scaling.yarn_beta_fast", 20.0f},
                                       {"rope.scaling.yarn_beta_slow", 2.0f}});
    const ir::RopeAngles expected{.dims = 32,
                                  .scaling = ir::RopeScaling::yarn,
                                  .factor = 16.0f,
                                  .attention_factor = 6.0f,
                                  .original_context = 1024,
                                  .beta_fast = 20.0f,
                                  .beta_slow = 2.0f,
                                  .extrapolation = 0.5f};
    EXPECT_EQ(found, expected);
}

TEST(Rope, RefusesWhatItCannotTurn) {
    expect_refused(rope, {{"rope.dimension_count", int64_t{33}}},
                   "an even number up to the head width 32, found 33");
    expect_refused(rope, {{"rope.dimension_count", int64_t{34}}},
                   "an even number up to the head width 32, found 34");
    expect_refused(rope, {{"rope.dimension_count", int64_t{0}}},
                   "'llama.rope.dimension_count': expected a number");
    expect_refused(rope, {{"rope.freq_base", 1.0f}},
                   "'llama.rope.freq_base': expected a number above 1, found 1");
    expect_refused(rope, {{"rope.freq_base", 0.0f}},
                   "'llama.rope.freq_base': expected a number above 0, found 0");
    expect_refused(rope, {{"rope.scaling.type", "longrope"}},
                   "expected none, linear or yarn, found 'longrope'");
    expect_refused(rope, {{"rope.scaling.factor", 0.0f}},
                   "'llama.rope.scaling.factor': expected a number above 0");
    expect_refused(rope, {{"rope.scale_linear", -1.0f}},
                   "'llama.rope.scale_linear': expected a number above 0");
    expect_refused(rope, {{"rope.scaling.type", "yarn"}, {"rope.scaling.yarn_ext_factor", 1.5f}},
                   "'llama.rope.scaling.yarn_ext_factor': expected a number from 0 to 1, found 1.5");
    expect_refused(rope, {{"rope.scaling.type", "yarn"}, {"rope.scaling.yarn_beta_slow", 64.0f}},
                   "'llama.rope.scaling.yarn_beta_fast': expected at least beta_slow, 64, found 32");
    expect_refused(rope,
                   {{"rope.scaling.type", "yarn"}, {"rope.scaling.original_context_length", int64_t{0}}},
                   "'llama.rope.scaling.original_context_length': expected a number");
}

ir::RopeAngles rope_with_divisors(const Metadata& keys) {
    return with_keys(keys, [](const KeyReader& reader) { return read_rope_with_divisors(reader, 32, 4096); });
}

TEST(Rope, IsNotScaledBesidesItsDivisors) {
    const ir::RopeAngles expected{
        .dims = 24, .base = 10000.0f, .scaling = ir::RopeScaling::none, .attention_factor = 1.19f};
    const Metadata keys{{"rope.dimension_count", int64_t{24}}, {"rope.scaling.attn_factor", 1.19f}};
    EXPECT_EQ(rope_with_divisors(keys), expected);
    Metadata named = keys;
    named["rope.scaling.type"] = "longrope";
    EXPECT_EQ(rope_with_divisors(named), expected);
    named["rope.scaling.type"] = "linear";
    named["rope.scaling.factor"] = 4.0f;
    EXPECT_EQ(rope_with_divisors(named).factor, 4.0f);
    expect_refused(rope_with_divisors, {{"rope.scaling.type", "dynamic"}}, "found 'dynamic'");
}

TEST(Heads, MayBeGroupedAndOfTheirOwnWidth) {
    const AttentionShape even = heads({{"attention.head_count", int64_t{6}}});
    EXPECT_EQ(even.kv_heads, 6);
    EXPECT_EQ(even.key_width, 4);
    EXPECT_EQ(even.output_features(), 24);
    const AttentionShape own = heads({{"attention.head_count", int64_t{10}},
                                      {"attention.head_count_kv", int64_t{5}},
                                      {"attention.key_length", int64_t{7}},
                                      {"attention.value_length", int64_t{3}}});
    EXPECT_EQ(own.query_features(), 70);
    EXPECT_EQ(own.key_features(), 35);
    EXPECT_EQ(own.value_features(), 15);
    EXPECT_EQ(own.output_features(), 30);
}

TEST(Heads, RefusesWhatDoesNotDivide) {
    expect_refused(heads, {{"attention.head_count", int64_t{5}}},
                   "'llama.attention.head_count': expected a divisor of the width 24, found 5");
    expect_refused(heads, {{"attention.head_count", int64_t{6}}, {"attention.head_count_kv", int64_t{4}}},
                   "'llama.attention.head_count_kv': expected a divisor of the 6 query heads, found 4");
    expect_refused(heads, {{"attention.head_count", int64_t{6}}, {"attention.head_count_kv", int64_t{0}}},
                   "'llama.attention.head_count_kv': expected a number");
}

TEST(Heads, RefusesMoreFeaturesThanCanBeCounted) {
    expect_refused(heads,
                   {{"attention.head_count", int64_t{INT32_MAX}},
                    {"attention.key_length", int64_t{INT32_MAX}},
                    {"attention.value_length", int64_t{1}}},
                   "'llama.attention.head_count': expected at most 1 heads of 2147483647 features");
}

TEST(Experts, AreOptional) {
    EXPECT_EQ(experts({}), std::nullopt);
    EXPECT_EQ(experts({{"expert_count", int64_t{0}}, {"expert_used_count", int64_t{0}}}), std::nullopt);
    const auto found = experts({{"expert_count", int64_t{8}}, {"expert_used_count", int64_t{8}}});
    ASSERT_TRUE(found);
    EXPECT_EQ(found->count, 8);
    EXPECT_EQ(found->used, 8);
}

TEST(Experts, RefusesToUseMoreThanThereAre) {
    expect_refused(experts, {{"expert_count", int64_t{8}}, {"expert_used_count", int64_t{9}}},
                   "'llama.expert_used_count': expected at most the 8 experts there are, found 9");
    expect_refused(experts, {{"expert_count", int64_t{8}}}, "'llama.expert_used_count' is missing");
    expect_refused(experts, {{"expert_count", int64_t{-8}}}, "'llama.expert_count': expected a number");
}

TEST(Vocabulary, IsTheTokenListsLengthIfThereIsOne) {
    const auto vocabulary = [](const Metadata& metadata) {
        test::Recipe recipe;
        recipe.metadata = metadata;
        const test::RecipeFile file(recipe);
        return read_vocabulary(KeyReader(file.file(), "llama"));
    };
    constexpr const char* kTokens = "tokenizer.ggml.tokens";
    const std::vector<std::string> three{"a", "b", "c"};
    EXPECT_EQ(vocabulary({{kTokens, three}}), 3);
    EXPECT_EQ(vocabulary({{kTokens, three}, {"llama.vocab_size", int64_t{5}}}), 3);
    EXPECT_EQ(vocabulary({{"llama.vocab_size", int64_t{5}}}), 5);
    EXPECT_THAT(
        [&] {
            vocabulary({{"llama.vocab_size", int64_t{0}}});
        },
        ThrowsMessage<Error>(HasSubstr("'llama.vocab_size': expected a number from 1")));
    EXPECT_THAT([&] { vocabulary({}); },
                ThrowsMessage<Error>(HasSubstr("'tokenizer.ggml.tokens' is missing")));
    EXPECT_THAT(
        [&] {
            vocabulary({{kTokens, std::vector<std::string>{}}});
        },
        ThrowsMessage<Error>(HasSubstr("expected 1 to 2147483647 tokens, found 0")));
}

}  // namespace
}  // namespace plait::models
