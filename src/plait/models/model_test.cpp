#include "plait/models/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>

#include "plait/base/error.h"
#include "plait/models/list.h"
#include "plait/models/test_models.h"

namespace plait::models {
namespace {

using test::Recipe;
using test::refusal;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// What the tests below must know of a key besides the type that its value in a recipe has.
struct KeyRule {
    const char* ending;
    bool has_default = false;
    bool zero_allowed = false;  // for "none"
    bool free = false;          // any number will do, as no tensor depends on it
    bool may_double = false;    // twice the number is another model
};

constexpr KeyRule kKeyRules[] = {
    {.ending = "general.name", .has_default = true},
    {.ending = ".context_length", .free = true},
    {.ending = ".original_context_length", .has_default = true, .free = true},
    {.ending = ".head_count_kv", .has_default = true},
    {.ending = ".key_length", .has_default = true},
    {.ending = ".value_length", .has_default = true},
    {.ending = ".sliding_window", .has_default = true, .zero_allowed = true, .free = true},
    {.ending = ".clamp_kqv", .has_default = true, .zero_allowed = true},
    {.ending = ".max_alibi_bias", .has_default = true, .zero_allowed = true},
    {.ending = ".dimension_count", .has_default = true},
    {.ending = ".attn_factor", .has_default = true},
    {.ending = ".freq_base", .has_default = true},
    {.ending = "softcapping", .has_default = true},
    {.ending = "gemma3.attention.sliding_window", .free = true},
    {.ending = "gpt-oss.attention.sliding_window", .free = true},
    {.ending = "gemma2.attention.sliding_window", .has_default = true, .free = true},
    {.ending = "llama.expert_count", .has_default = true, .zero_allowed = true},
    {.ending = ".expert_used_count", .may_double = true},
    {.ending = ".expert_feed_forward_length", .has_default = true},
    {.ending = "gpt-oss.expert_feed_forward_length"},
    {.ending = ".expert_shared_feed_forward_length", .has_default = true},
    // With a fused projection and as many key/value heads the heads share the same features, however many.
    {.ending = "gpt2.attention.head_count", .may_double = true},
    {.ending = "gptneox.attention.head_count", .may_double = true},
    {.ending = "gptneox.rope.dimension_count", .has_default = true, .may_double = true},
    {.ending = "mpt.attention.head_count", .may_double = true},
    // Of a dense network that these do not have.
    {.ending = "qwen2moe.feed_forward_length", .free = true},
    {.ending = "qwen3moe.feed_forward_length", .free = true},
};

KeyRule rule_of(std::string_view key) {
    KeyRule rule{};
    size_t longest = 0;
    for (const KeyRule& candidate : kKeyRules) {
        const std::string_view ending = candidate.ending;
        if (!key.ends_with(ending) || ending.size() <= longest) continue;
        rule = candidate;
        longest = ending.size();
    }
    return rule;
}

bool is_free(const Recipe& recipe, std::string_view key) {
    // A table of positions is as long as the context.
    const bool has_table = key.ends_with(".context_length") && recipe.has_tensor("position_embd.weight");
    return rule_of(key).free && !has_table;
}

// A message is one sentence: about one thing, on one line.
void expect_sentence(const std::string& message, const std::string& subject, const std::string& problem) {
    EXPECT_THAT(message, AllOf(HasSubstr("recipe.gguf"), HasSubstr("'" + subject + "'"), HasSubstr(problem),
                               Not(HasSubstr("\n"))));
}

TEST(Architectures, AreSortedAndNamedOnce) {
    const auto list = architectures();
    ASSERT_FALSE(list.empty());
    for (size_t i = 1; i < list.size(); ++i)
        EXPECT_LT(std::string_view(list[i - 1].name), std::string_view(list[i].name));
}

TEST(Architectures, HaveARecipeEach) {
    std::set<std::string> made;
    for (const auto& [name, recipe] : test::recipes())
        made.insert(std::get<std::string>(recipe.metadata.at("general.architecture")));
    for (const Architecture& architecture : architectures())
        EXPECT_TRUE(made.contains(architecture.name)) << architecture.name;
    EXPECT_EQ(made.size(), architectures().size());
}

TEST(LoadModel, WarnsOfNothingInAWholeFile) {
    for (const auto& [name, recipe] : test::recipes()) {
        ::testing::internal::CaptureStderr();
        EXPECT_EQ(refusal(recipe), "");
        EXPECT_THAT(::testing::internal::GetCapturedStderr(), IsEmpty()) << name;
    }
}

TEST(LoadModel, KnowsBothSetsOfFrequencyDivisors) {
    const Recipe recipe = test::recipe_of("phi3");
    const auto chosen = [&](int64_t context) {
        const test::RecipeFile file(recipe);
        const auto model = load_model(file.file(), {.context = context});
        std::string names;
        for (const ir::WeightSpec& weight : model->weights())
            if (weight.name.starts_with("rope_factors")) names += weight.name;
        return names;
    };
    EXPECT_EQ(chosen(32), "rope_factors_short.weight");
    EXPECT_EQ(chosen(33), "rope_factors_long.weight");
    EXPECT_EQ(refusal(recipe, {.context = 33}), "");
}

TEST(LoadModel, AWindowThatHoldsTheContextIsNone) {
    const test::RecipeFile file(test::recipe_of("phi3 of short context"));  // a window of 8
    EXPECT_EQ(load_model(file.file(), {.context = 8})->state_groups()[0].window, 0);
    EXPECT_EQ(load_model(file.file(), {.context = 9})->state_groups()[0].window, 8);
}

TEST(LoadModel, NeedsExpertsWhereThereIsNothingElse) {
    for (const char* name : {"olmoe", "qwen2moe", "qwen3moe"}) {
        Recipe recipe = test::recipe_of(name);
        recipe.metadata[std::string(name) + ".expert_count"] = int64_t{0};
        expect_sentence(refusal(recipe), std::string(name) + ".expert_count", "expected a number from 1");
    }
}

TEST(LoadModel, ExpertsShareTheWidthOfADenseNetwork) {
    for (const char* name : {"qwen2moe", "qwen3moe"}) {
        Recipe recipe = test::recipe_of(name);
        recipe.metadata.erase(std::string(name) + ".expert_feed_forward_length");
        expect_sentence(refusal(recipe), "blk.0.ffn_gate_exps.weight", "expected shape [5, 5, 12]");
    }
    Recipe recipe = test::recipe_of("qwen2moe");
    recipe.metadata.erase("qwen2moe.expert_shared_feed_forward_length");
    expect_sentence(refusal(recipe), "blk.0.ffn_gate_shexp.weight", "expected shape [10, 12]");
}

TEST(LoadModel, TakesEveryRecipe) {
    for (const auto& [name, recipe] : test::recipes()) EXPECT_EQ(refusal(recipe), "") << name;
}

TEST(LoadModel, SaysWhatTheFileIs) {
    const test::RecipeFile llama(test::llama_recipe());
    const auto model = load_model(llama.file(), test::kOptions);
    const ModelSummary& summary = model->summary();
    EXPECT_EQ(summary.architecture, "llama");
    EXPECT_EQ(summary.name, "small");
    EXPECT_EQ(summary.layers, 2);
    EXPECT_EQ(summary.width, 12);
    EXPECT_EQ(summary.vocabulary, 7);
    EXPECT_EQ(summary.trained_context, 64);
    EXPECT_EQ(summary.max_context, 0);
    const test::RecipeFile gpt2(test::gpt2_recipe());
    EXPECT_EQ(load_model(gpt2.file(), test::kOptions)->summary().max_context, 16);
}

TEST(LoadModel, ListsTheArchitecturesItKnows) {
    Recipe recipe = test::llama_recipe();
    recipe.metadata["general.architecture"] = "lama\n";
    expect_sentence(refusal(recipe), "general.architecture",
                    "expected one of command-r, gemma2, gemma3, gpt-oss, gpt2, gptneox, granite, llama, mpt, "
                    "olmoe, phi3, qwen2, "
                    "qwen2moe, qwen3, qwen3moe, smollm3, starcoder2, found 'lama\\x0a'");
    recipe.metadata["general.architecture"] = int64_t{1};
    expect_sentence(refusal(recipe), "general.architecture", "expected string");
    recipe.metadata.erase("general.architecture");
    expect_sentence(refusal(recipe), "general.architecture", "missing");
}

TEST(LoadModel, DoesWithoutWhatIsOptional) {
    for (const auto& [name, whole] : test::recipes()) {
        Recipe recipe = whole;
        std::erase_if(recipe.tensors, [](const auto& tensor) { return tensor.optional; });
        EXPECT_EQ(refusal(recipe), "") << name;
    }
}

TEST(LoadModel, NeedsEveryKeyThatHasNoDefault) {
    for (const auto& [name, whole] : test::recipes()) {
        for (const auto& [key, value] : whole.metadata) {
            if (rule_of(key).has_default) continue;
            Recipe recipe = whole;
            recipe.metadata.erase(key);
            expect_sentence(refusal(recipe), key, "missing");
        }
    }
}

TEST(LoadModel, RefusesNumbersOutOfBounds) {
    for (const auto& [name, whole] : test::recipes()) {
        for (const auto& [key, value] : whole.metadata) {
            const bool count = std::holds_alternative<int64_t>(value);
            if (!count && !std::holds_alternative<float>(value)) continue;
            Recipe recipe = whole;
            for (const int64_t bad : {int64_t{0}, int64_t{-1}, int64_t{1} << 31, INT64_MAX, INT64_MIN}) {
                if (bad == 0 && rule_of(key).zero_allowed) continue;
                if (count)
                    recipe.metadata[key] = bad;
                else
                    recipe.metadata[key] =
                        bad > 0 ? std::numeric_limits<float>::infinity() : static_cast<float>(bad);
                expect_sentence(refusal(recipe), key, "expected a number");
            }
            if (count) continue;
            recipe.metadata[key] = std::numeric_limits<float>::quiet_NaN();
            expect_sentence(refusal(recipe), key, "expected a number above 0, found nan");
        }
    }
}

TEST(LoadModel, RefusesValuesOfAnotherType) {
    for (const auto& [name, whole] : test::recipes()) {
        for (const auto& [key, value] : whole.metadata) {
            Recipe recipe = whole;
            if (std::holds_alternative<bool>(value))
                recipe.metadata[key] = 1.0f;
            else
                recipe.metadata[key] = true;
            expect_sentence(refusal(recipe), key, "expected");
            recipe.metadata[key] = std::vector<int32_t>{1, 1};  // a value by layer
            expect_sentence(refusal(recipe), key, "found array of int32");
        }
    }
}

TEST(LoadModel, RefusesCountsThatAreFractionsAndTheReverse) {
    for (const auto& [name, whole] : test::recipes()) {
        for (const auto& [key, value] : whole.metadata) {
            Recipe recipe = whole;
            if (std::holds_alternative<int64_t>(value))
                recipe.metadata[key] = 1.5f;
            else if (std::holds_alternative<float>(value))
                recipe.metadata[key] = int64_t{1};
            else
                continue;
            expect_sentence(refusal(recipe), key, "expected");
        }
    }
}

// The largest number that is no refusal by itself: nothing may be set aside, counted up to or multiplied by
// it.
TEST(LoadModel, BelievesNoHugeNumber) {
    for (const auto& [name, whole] : test::recipes()) {
        for (const auto& [key, value] : whole.metadata) {
            if (!std::holds_alternative<int64_t>(value)) continue;
            Recipe recipe = whole;
            recipe.metadata[key] = int64_t{INT32_MAX};
            EXPECT_EQ(refusal(recipe).empty(), is_free(whole, key)) << name << ": " << key;
        }
    }
}

TEST(LoadModel, RefusesFilesCutAnywhere) {
    for (const auto& [name, recipe] : test::recipes()) {
        const std::vector<std::byte> whole = test::file_bytes(recipe);
        const gguf::File file = gguf::File::parse(whole, "recipe.gguf");
        const gguf::Tensor& last = file.tensors().back();
        const size_t end = file.offset_of(last) + last.data.size();
        for (size_t size = 0; size <= whole.size(); ++size) {
            const std::vector<std::byte> cut(whole.begin(),
                                             whole.begin() + static_cast<std::ptrdiff_t>(size));
            EXPECT_EQ(refusal(cut).empty(), size >= end) << name << ": " << size << " of " << whole.size();
        }
    }
}

TEST(LoadModel, RefusesNumbersThatTensorsContradict) {
    for (const auto& [name, whole] : test::recipes()) {
        for (const auto& [key, value] : whole.metadata) {
            const int64_t* count = std::get_if<int64_t>(&value);
            if (count == nullptr || is_free(whole, key) || rule_of(key).may_double) continue;
            Recipe recipe = whole;
            recipe.metadata[key] = *count * 2;
            EXPECT_THAT(refusal(recipe), AllOf(HasSubstr("recipe.gguf"), HasSubstr("'")))
                << name << ": " << key;
        }
    }
}

TEST(LoadModel, NeedsEveryTensor) {
    for (const auto& [name, whole] : test::recipes()) {
        for (const test::RecipeTensor& tensor : whole.tensors) {
            if (tensor.optional) continue;
            Recipe recipe = whole;
            recipe.erase_tensor(tensor.name);
            expect_sentence(refusal(recipe), tensor.name, "needed by architecture");
        }
    }
}

TEST(LoadModel, RefusesEveryTensorOfAnotherShape) {
    for (const auto& [name, whole] : test::recipes()) {
        for (const test::RecipeTensor& tensor : whole.tensors) {
            for (int axis = 0; axis < tensor.shape.rank(); ++axis) {
                Recipe recipe = whole;
                ++recipe.tensor(tensor.name).shape[axis];
                expect_sentence(refusal(recipe), tensor.name, "expected shape " + tensor.shape.text());
            }
            Recipe recipe = whole;
            recipe.tensor(tensor.name).shape.push_back(1);
            expect_sentence(refusal(recipe), tensor.name, "expected shape " + tensor.shape.text());
        }
    }
}

TEST(LoadModel, RefusesEveryTensorOfIntegersAndVectorsOfHalves) {
    for (const auto& [name, whole] : test::recipes()) {
        for (const test::RecipeTensor& tensor : whole.tensors) {
            const bool vector = tensor.shape.rank() == 1 || tensor.name.ends_with(".bias") ||
                                tensor.name.ends_with("_norm.weight");
            Recipe recipe = whole;
            recipe.tensor(tensor.name).type = ir::DType::I32;
            expect_sentence(refusal(recipe), tensor.name,
                            vector ? "expected F32" : "expected a weight format");
            recipe.tensor(tensor.name).type = ir::DType::F16;
            if (vector)
                expect_sentence(refusal(recipe), tensor.name, "expected F32");
            else
                EXPECT_EQ(refusal(recipe), "") << name << ": " << tensor.name;
        }
    }
}

TEST(LoadModel, ShapesAreNamedBothWays) {
    Recipe recipe = test::llama_recipe();
    recipe.tensor("blk.0.attn_q.weight").shape = {12, 24};
    EXPECT_EQ(refusal(recipe),
              "recipe.gguf: tensor 'blk.0.attn_q.weight': expected shape [24, 12] by architecture llama, "
              "found [12, 24]");
}

TEST(LoadModel, ReadsWhatAFileDoesNotSay) {
    Recipe recipe = test::llama_recipe();
    for (const char* key : {"head_count_kv", "key_length", "value_length"})
        recipe.metadata.erase("llama.attention." + std::string(key));
    // 6 heads of 2 features, all with keys and values of their own
    for (const char* layer : {"blk.0.", "blk.1."}) {
        for (const char* part : {"attn_q.weight", "attn_k.weight", "attn_v.weight", "attn_output.weight"})
            recipe.tensor(layer + std::string(part)).shape = {12, 12};
    }
    recipe.metadata.erase("general.name");
    EXPECT_EQ(refusal(recipe), "");
    const test::RecipeFile file(recipe);
    EXPECT_EQ(load_model(file.file(), test::kOptions)->summary().name, "");
}

TEST(LoadModel, WarnsOfTensorsNobodyReads) {
    Recipe recipe = test::llama_recipe();
    for (int i = 0; i < 7; ++i) recipe.add_tensor("blk.0.extra" + std::to_string(i), {1});
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(refusal(recipe), "");
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                HasSubstr("recipe.gguf: architecture llama does not read 'blk.0.extra0', 'blk.0.extra1', "
                          "'blk.0.extra2', 'blk.0.extra3', 'blk.0.extra4' and 2 more"));
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(refusal(test::llama_recipe()), "");
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), IsEmpty());
}

TEST(TrainedContext, NeedsNoMoreThanTheKey) {
    Recipe recipe = test::gpt2_recipe();
    recipe.tensors.clear();
    EXPECT_EQ(trained_context(test::RecipeFile(recipe).file()), 16);
    recipe.metadata.erase("gpt2.context_length");
    EXPECT_THROW(trained_context(test::RecipeFile(recipe).file()), Error);
    recipe.metadata["general.architecture"] = "other";
    EXPECT_THROW(trained_context(test::RecipeFile(recipe).file()), Error);
}

TEST(LoadModel, LeavesTheContextToTheCaller) {
    EXPECT_EQ(refusal(test::gpt2_recipe(), {.context = 17}), "");
    EXPECT_EQ(refusal(test::llama_recipe(), {.context = 1000}), "");
}

}  // namespace
}  // namespace plait::models
