#include "plait/models/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

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

struct NamedRecipe {
    const char* name;
    Recipe (*recipe)();
};

constexpr NamedRecipe kRecipes[] = {
    {"llama", test::llama_recipe},   {"llama with experts", test::llama_moe_recipe},
    {"gpt2", test::gpt2_recipe},     {"gemma2", test::gemma2_recipe},
    {"gemma3", test::gemma3_recipe}, {"gpt-oss", test::gpt_oss_recipe}};

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

TEST(LoadModel, TakesEveryRecipe) {
    for (const auto& [name, recipe] : kRecipes) EXPECT_EQ(refusal(recipe()), "") << name;
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
                    "expected one of gemma2, gemma3, gpt-oss, gpt2, llama, found 'lama\\x0a'");
    recipe.metadata["general.architecture"] = int64_t{1};
    expect_sentence(refusal(recipe), "general.architecture", "expected string");
    recipe.metadata.erase("general.architecture");
    expect_sentence(refusal(recipe), "general.architecture", "missing");
}

TEST(LoadModel, NeedsEveryKeyThatHasNoDefault) {
    for (const auto& [name, make] : kRecipes) {
        for (const auto& [key, value] : make().metadata) {
            const bool has_default = key == "general.name" || key.ends_with("head_count_kv") ||
                                     key.ends_with("key_length") || key.ends_with("value_length") ||
                                     key.ends_with("rope.freq_base") || key.ends_with("softcapping") ||
                                     key == "gemma2.attention.sliding_window" || key == "llama.expert_count";
            if (has_default) continue;
            Recipe recipe = make();
            recipe.metadata.erase(key);
            expect_sentence(refusal(recipe), key, "missing");
        }
    }
}

TEST(LoadModel, RefusesNumbersOutOfBounds) {
    for (const auto& [name, make] : kRecipes) {
        for (const auto& [key, value] : make().metadata) {
            const bool count = std::holds_alternative<int64_t>(value);
            if (!count && !std::holds_alternative<float>(value)) continue;
            if (key == "llama.expert_count") continue;  // zero is a dense model
            Recipe recipe = make();
            for (const int64_t bad : {int64_t{0}, int64_t{-1}, int64_t{1} << 31, INT64_MAX, INT64_MIN}) {
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
    for (const auto& [name, make] : kRecipes) {
        for (const auto& [key, value] : make().metadata) {
            Recipe recipe = make();
            recipe.metadata[key] = true;
            expect_sentence(refusal(recipe), key, "expected");
            recipe.metadata[key] = std::vector<int32_t>{1, 1};  // a value by layer
            expect_sentence(refusal(recipe), key, "found array of int32");
        }
    }
}

TEST(LoadModel, RefusesCountsThatAreFractionsAndTheReverse) {
    for (const auto& [name, make] : kRecipes) {
        for (const auto& [key, value] : make().metadata) {
            Recipe recipe = make();
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

// Whether any number will do, as no tensor depends on it.
bool is_free(const std::string& key) {
    return (key.ends_with("context_length") && key != "gpt2.context_length") ||
           key.ends_with("sliding_window");
}

// The largest number that is no refusal by itself: nothing may be set aside, counted up to or multiplied by
// it.
TEST(LoadModel, BelievesNoHugeNumber) {
    for (const auto& [name, make] : kRecipes) {
        for (const auto& [key, value] : make().metadata) {
            if (!std::holds_alternative<int64_t>(value)) continue;
            Recipe recipe = make();
            recipe.metadata[key] = int64_t{INT32_MAX};
            EXPECT_EQ(refusal(recipe).empty(), is_free(key)) << name << ": " << key;
        }
    }
}

TEST(LoadModel, RefusesFilesCutAnywhere) {
    for (const auto& [name, make] : kRecipes) {
        const std::vector<std::byte> whole = test::file_bytes(make());
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
    for (const auto& [name, make] : kRecipes) {
        for (const auto& [key, value] : make().metadata) {
            const int64_t* count = std::get_if<int64_t>(&value);
            const bool may_double =
                is_free(key) || key.ends_with("expert_used_count") || key == "gpt2.attention.head_count";
            if (count == nullptr || may_double) continue;
            Recipe recipe = make();
            recipe.metadata[key] = *count * 2;
            EXPECT_THAT(refusal(recipe), AllOf(HasSubstr("recipe.gguf"), HasSubstr("'")))
                << name << ": " << key;
        }
    }
}

TEST(LoadModel, NeedsEveryTensor) {
    for (const auto& [name, make] : kRecipes) {
        for (const test::RecipeTensor& tensor : make().tensors) {
            if (tensor.name == "output.weight") continue;  // then the embedding serves both ends
            Recipe recipe = make();
            recipe.erase_tensor(tensor.name);
            expect_sentence(refusal(recipe), tensor.name, "needed by architecture");
        }
    }
}

TEST(LoadModel, RefusesEveryTensorOfAnotherShape) {
    for (const auto& [name, make] : kRecipes) {
        for (const test::RecipeTensor& tensor : make().tensors) {
            for (int axis = 0; axis < tensor.shape.rank(); ++axis) {
                Recipe recipe = make();
                ++recipe.tensor(tensor.name).shape[axis];
                expect_sentence(refusal(recipe), tensor.name, "expected shape " + tensor.shape.text());
            }
            Recipe recipe = make();
            recipe.tensor(tensor.name).shape.push_back(1);
            expect_sentence(refusal(recipe), tensor.name, "expected shape " + tensor.shape.text());
        }
    }
}

TEST(LoadModel, RefusesEveryTensorOfIntegersAndVectorsOfHalves) {
    for (const auto& [name, make] : kRecipes) {
        for (const test::RecipeTensor& tensor : make().tensors) {
            const bool vector = tensor.shape.rank() == 1 || tensor.name.ends_with(".bias");
            Recipe recipe = make();
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
