#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "plait/gguf/file.h"
#include "plait/ir/tensor.h"
#include "plait/models/model.h"

// Small model files made in memory, to be spoiled one piece at a time. For this room's tests.
namespace plait::models::test {

using MetadataValue = std::variant<int64_t, float, bool, std::string, std::vector<std::string>,
                                   std::vector<int32_t>, std::vector<bool>>;

struct RecipeTensor {
    std::string name;
    ir::Shape shape;
    ir::DType type = ir::DType::F32;
    bool optional = false;  // for the architecture
};

// What goes into a file.
struct Recipe {
    std::map<std::string, MetadataValue> metadata;
    std::vector<RecipeTensor> tensors;

    RecipeTensor& tensor(std::string_view name);
    bool has_tensor(std::string_view name) const;
    void erase_tensor(std::string_view name);
    void add_tensor(std::string name, const ir::Shape& shape, bool optional = false) {
        tensors.push_back({.name = std::move(name), .shape = shape, .optional = optional});
    }
};

// 2 layers, width 12, 6 query and 2 key/value heads of 4 and 3 features, inner width 10, vocabulary 7,
// context 64.
Recipe llama_recipe();
// The same with 5 experts, 2 used.
Recipe llama_moe_recipe();
// 2 layers, width 12, 3 heads, inner width 10, vocabulary 7, context 16.
Recipe gpt2_recipe();

// Gemma: 2 layers, width 12, 6 query and 2 key/value heads of 4 features, inner width 10, vocabulary 7,
// context 64, window 5; no output matrix.
Recipe gemma2_recipe();
Recipe gemma3_recipe();
// The same sizes with 5 experts, 2 used, and an output matrix.
Recipe gpt_oss_recipe();

struct NamedRecipe {
    std::string name;
    Recipe recipe;
};

// One or more for every architecture, with all that its files may have; recipes.cpp has those not named
// above: 2 layers, width 12, 3 query and, where heads are grouped, 1 key/value head of 4
// features (qwen3: of 6), inner width 10, 5 experts where there are any, 2 used, vocabulary 7, context 64.
std::span<const NamedRecipe> recipes();
Recipe recipe_of(std::string_view name);

// A recipe's file, tensors all zeros.
std::vector<std::byte> file_bytes(const Recipe& recipe);
class RecipeFile {
  public:
    explicit RecipeFile(const Recipe& recipe);
    RecipeFile(const RecipeFile&) = delete;
    RecipeFile& operator=(const RecipeFile&) = delete;

    const gguf::File& file() const { return file_; }

  private:
    std::vector<std::byte> bytes_;
    gguf::File file_;
};

inline constexpr ModelOptions kOptions{.context = 16};

// The sentence with which loading is refused; empty if it is not. Expects either within a second and without
// more memory than the file warrants.
std::string refusal(const Recipe& recipe, const ModelOptions& options = kOptions);
std::string refusal(std::span<const std::byte> file, const ModelOptions& options = kOptions);

}  // namespace plait::models::test
