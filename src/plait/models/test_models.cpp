#include "plait/models/test_models.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <memory>

#include "plait/base/allocation_count.h"
#include "plait/base/ensure.h"
#include "plait/base/error.h"
#include "plait/gguf/writer.h"

namespace plait::models::test {
namespace {

constexpr int64_t kWidth = 12;
constexpr int64_t kInner = 10;
constexpr int64_t kVocabulary = 7;
constexpr int64_t kLayers = 2;

std::string block(int64_t layer, const char* part) { return "blk." + std::to_string(layer) + "." + part; }

std::vector<std::string> tokens() {
    std::vector<std::string> tokens;
    for (int64_t id = 0; id < kVocabulary; ++id) tokens.push_back("token " + std::to_string(id));
    return tokens;
}

void add_llama_attention(Recipe& recipe, int64_t layer) {
    recipe.add_tensor(block(layer, "attn_norm.weight"), {kWidth});
    recipe.add_tensor(block(layer, "attn_q.weight"), {6 * 4, kWidth});
    recipe.add_tensor(block(layer, "attn_k.weight"), {2 * 4, kWidth});
    recipe.add_tensor(block(layer, "attn_v.weight"), {2 * 3, kWidth});
    recipe.add_tensor(block(layer, "attn_output.weight"), {kWidth, 6 * 3});
    recipe.add_tensor(block(layer, "ffn_norm.weight"), {kWidth});
}

Recipe llama_without_ffn() {
    Recipe recipe;
    recipe.metadata = {{"general.architecture", "llama"},
                       {"general.name", "small"},
                       {"llama.block_count", kLayers},
                       {"llama.context_length", int64_t{64}},
                       {"llama.embedding_length", kWidth},
                       {"llama.feed_forward_length", kInner},
                       {"llama.attention.head_count", int64_t{6}},
                       {"llama.attention.head_count_kv", int64_t{2}},
                       {"llama.attention.key_length", int64_t{4}},
                       {"llama.attention.value_length", int64_t{3}},
                       {"llama.attention.layer_norm_rms_epsilon", 1e-5f},
                       {"tokenizer.ggml.tokens", tokens()}};
    recipe.add_tensor("token_embd.weight", {kVocabulary, kWidth});
    recipe.add_tensor("output_norm.weight", {kWidth});
    recipe.add_tensor("output.weight", {kVocabulary, kWidth}, true);
    for (int64_t layer = 0; layer < kLayers; ++layer) add_llama_attention(recipe, layer);
    return recipe;
}

void set(gguf::Writer& writer, const std::string& key, const MetadataValue& value) {
    std::visit(
        [&]<class T>(const T& held) {
            if constexpr (std::is_same_v<T, std::vector<std::string>>)
                writer.set_strings(key, held);
            else if constexpr (std::is_same_v<T, std::vector<bool>>) {
                const auto flags = std::make_unique<bool[]>(held.size());
                std::ranges::copy(held, flags.get());
                writer.set_array<bool>(key, std::span<const bool>(flags.get(), held.size()));
            } else if constexpr (std::is_same_v<T, std::vector<int32_t>>)
                writer.set_array(key, std::span<const int32_t>(held));
            else
                writer.set(key, held);
        },
        value);
}

gguf::Writer::NewTensor zeros(const RecipeTensor& tensor) {
    std::vector<int64_t> shape;
    for (int axis = 0; axis < tensor.shape.rank(); ++axis) shape.push_back(tensor.shape[axis]);
    const auto bytes = static_cast<size_t>(ir::TensorDesc{tensor.type, tensor.shape}.bytes());
    return {tensor.name, tensor.type, std::move(shape),
            [bytes](const gguf::Writer::Sink& sink) { sink(std::vector<std::byte>(bytes)); }};
}

}  // namespace

std::vector<std::byte> file_bytes(const Recipe& recipe) {
    gguf::Writer writer;
    for (const auto& [key, value] : recipe.metadata) set(writer, key, value);
    for (const RecipeTensor& tensor : recipe.tensors) writer.add(zeros(tensor));
    std::vector<std::byte> bytes;
    writer.write(
        [&](std::span<const std::byte> piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); });
    return bytes;
}

RecipeTensor& Recipe::tensor(std::string_view name) {
    const auto found = std::ranges::find(tensors, name, &RecipeTensor::name);
    ENSURE(found != tensors.end(), name);
    return *found;
}

bool Recipe::has_tensor(std::string_view name) const {
    return std::ranges::find(tensors, name, &RecipeTensor::name) != tensors.end();
}

void Recipe::erase_tensor(std::string_view name) {
    ENSURE(std::erase_if(tensors, [&](const RecipeTensor& tensor) { return tensor.name == name; }) == 1,
           name);
}

Recipe llama_recipe() {
    Recipe recipe = llama_without_ffn();
    for (int64_t layer = 0; layer < kLayers; ++layer) {
        recipe.add_tensor(block(layer, "ffn_gate.weight"), {kInner, kWidth});
        recipe.add_tensor(block(layer, "ffn_up.weight"), {kInner, kWidth});
        recipe.add_tensor(block(layer, "ffn_down.weight"), {kWidth, kInner});
    }
    return recipe;
}

Recipe llama_moe_recipe() {
    constexpr int64_t kExperts = 5;
    Recipe recipe = llama_without_ffn();
    recipe.metadata["llama.expert_count"] = kExperts;
    recipe.metadata["llama.expert_used_count"] = int64_t{2};
    for (int64_t layer = 0; layer < kLayers; ++layer) {
        recipe.add_tensor(block(layer, "ffn_gate_inp.weight"), {kExperts, kWidth});
        recipe.add_tensor(block(layer, "ffn_gate_exps.weight"), {kExperts, kInner, kWidth});
        recipe.add_tensor(block(layer, "ffn_up_exps.weight"), {kExperts, kInner, kWidth});
        recipe.add_tensor(block(layer, "ffn_down_exps.weight"), {kExperts, kWidth, kInner});
    }
    return recipe;
}

Recipe gpt2_recipe() {
    Recipe recipe;
    recipe.metadata = {{"general.architecture", "gpt2"},
                       {"gpt2.block_count", kLayers},
                       {"gpt2.context_length", int64_t{16}},
                       {"gpt2.embedding_length", kWidth},
                       {"gpt2.feed_forward_length", kInner},
                       {"gpt2.attention.head_count", int64_t{3}},
                       {"gpt2.attention.layer_norm_epsilon", 1e-5f},
                       {"tokenizer.ggml.tokens", tokens()}};
    const auto add_pair = [&](const std::string& stem, const ir::Shape& shape) {
        recipe.add_tensor(stem + ".weight", shape);
        recipe.add_tensor(stem + ".bias", {shape[0]});
    };
    recipe.add_tensor("token_embd.weight", {kVocabulary, kWidth});
    recipe.add_tensor("position_embd.weight", {16, kWidth});
    add_pair("output_norm", {kWidth});
    for (int64_t layer = 0; layer < kLayers; ++layer) {
        add_pair(block(layer, "attn_norm"), {kWidth});
        add_pair(block(layer, "attn_qkv"), {3 * kWidth, kWidth});
        add_pair(block(layer, "attn_output"), {kWidth, kWidth});
        add_pair(block(layer, "ffn_norm"), {kWidth});
        add_pair(block(layer, "ffn_up"), {kInner, kWidth});
        add_pair(block(layer, "ffn_down"), {kWidth, kInner});
    }
    return recipe;
}

namespace {

// What the models with windows have in common: two layers of grouped heads, keys and values equally wide.
Recipe windowed_recipe(const std::string& architecture) {
    Recipe recipe;
    const auto key = [&](const char* name) { return architecture + "." + name; };
    recipe.metadata = {{"general.architecture", architecture},
                       {key("block_count"), kLayers},
                       {key("context_length"), int64_t{64}},
                       {key("embedding_length"), kWidth},
                       {key("attention.head_count"), int64_t{6}},
                       {key("attention.head_count_kv"), int64_t{2}},
                       {key("attention.key_length"), int64_t{4}},
                       {key("attention.value_length"), int64_t{4}},
                       {key("attention.layer_norm_rms_epsilon"), 1e-6f},
                       {key("attention.sliding_window"), int64_t{5}},
                       {key("rope.freq_base"), 1000000.0f},
                       {"tokenizer.ggml.tokens", tokens()}};
    recipe.add_tensor("token_embd.weight", {kVocabulary, kWidth});
    recipe.add_tensor("output_norm.weight", {kWidth});
    for (int64_t layer = 0; layer < kLayers; ++layer) {
        recipe.add_tensor(block(layer, "attn_norm.weight"), {kWidth});
        recipe.add_tensor(block(layer, "attn_q.weight"), {6 * 4, kWidth});
        recipe.add_tensor(block(layer, "attn_k.weight"), {2 * 4, kWidth});
        recipe.add_tensor(block(layer, "attn_v.weight"), {2 * 4, kWidth});
        recipe.add_tensor(block(layer, "attn_output.weight"), {kWidth, 6 * 4});
        recipe.add_tensor(block(layer, "post_attention_norm.weight"), {kWidth});
    }
    return recipe;
}

Recipe gemma_recipe(const std::string& architecture) {
    Recipe recipe = windowed_recipe(architecture);
    recipe.metadata[architecture + ".feed_forward_length"] = kInner;
    for (int64_t layer = 0; layer < kLayers; ++layer) {
        recipe.add_tensor(block(layer, "ffn_norm.weight"), {kWidth});
        recipe.add_tensor(block(layer, "ffn_gate.weight"), {kInner, kWidth});
        recipe.add_tensor(block(layer, "ffn_up.weight"), {kInner, kWidth});
        recipe.add_tensor(block(layer, "ffn_down.weight"), {kWidth, kInner});
        recipe.add_tensor(block(layer, "post_ffw_norm.weight"), {kWidth});
    }
    return recipe;
}

}  // namespace

Recipe gemma2_recipe() {
    Recipe recipe = gemma_recipe("gemma2");
    recipe.metadata["gemma2.attn_logit_softcapping"] = 40.0f;
    recipe.metadata["gemma2.final_logit_softcapping"] = 20.0f;
    return recipe;
}

Recipe gemma3_recipe() {
    Recipe recipe = gemma_recipe("gemma3");
    for (int64_t layer = 0; layer < kLayers; ++layer) {
        recipe.add_tensor(block(layer, "attn_q_norm.weight"), {4});
        recipe.add_tensor(block(layer, "attn_k_norm.weight"), {4});
    }
    return recipe;
}

Recipe gpt_oss_recipe() {
    constexpr int64_t kExperts = 5;
    Recipe recipe = windowed_recipe("gpt-oss");
    recipe.metadata["gpt-oss.expert_feed_forward_length"] = kInner;
    recipe.metadata["gpt-oss.expert_count"] = kExperts;
    recipe.metadata["gpt-oss.expert_used_count"] = int64_t{2};
    recipe.add_tensor("output.weight", {kVocabulary, kWidth}, true);
    for (int64_t layer = 0; layer < kLayers; ++layer) {
        recipe.add_tensor(block(layer, "attn_q.bias"), {6 * 4});
        recipe.add_tensor(block(layer, "attn_k.bias"), {2 * 4});
        recipe.add_tensor(block(layer, "attn_v.bias"), {2 * 4});
        recipe.add_tensor(block(layer, "attn_output.bias"), {kWidth});
        recipe.add_tensor(block(layer, "attn_sinks.weight"), {6});
        recipe.add_tensor(block(layer, "ffn_gate_inp.weight"), {kExperts, kWidth});
        recipe.add_tensor(block(layer, "ffn_gate_inp.bias"), {kExperts});
        for (const char* part : {"ffn_gate_exps", "ffn_up_exps"}) {
            recipe.add_tensor(block(layer, part) + ".weight", {kExperts, kInner, kWidth});
            recipe.add_tensor(block(layer, part) + ".bias", {kExperts, kInner});
        }
        recipe.add_tensor(block(layer, "ffn_down_exps.weight"), {kExperts, kWidth, kInner});
        recipe.add_tensor(block(layer, "ffn_down_exps.bias"), {kExperts, kWidth});
    }
    return recipe;
}

RecipeFile::RecipeFile(const Recipe& recipe)
    : bytes_(file_bytes(recipe)), file_(gguf::File::parse(bytes_, "recipe.gguf")) {}

std::string refusal(std::span<const std::byte> bytes, const ModelOptions& options) {
    const size_t allocated = allocated_bytes_of_thread();
    const std::clock_t start = std::clock();
    std::string sentence;
    try {
        const gguf::File file = gguf::File::parse(bytes, "recipe.gguf");
        trained_context(file);
        load_model(file, options);
    } catch (const Error& error) {
        sentence = error.what();
    }
    EXPECT_LE(allocated_bytes_of_thread() - allocated, 4 * bytes.size() + (size_t{16} << 20)) << sentence;
    EXPECT_LT(std::clock() - start, CLOCKS_PER_SEC) << sentence;
    return sentence;
}

std::string refusal(const Recipe& recipe, const ModelOptions& options) {
    return refusal(file_bytes(recipe), options);
}

}  // namespace plait::models::test
