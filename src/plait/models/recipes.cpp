#include <algorithm>

#include "plait/base/ensure.h"
#include "plait/models/test_models.h"

namespace plait::models::test {
namespace {

constexpr int64_t kLayers = 2;
constexpr int64_t kWidth = 12;
constexpr int64_t kHeads = 3;
constexpr int64_t kHeadWidth = 4;
constexpr int64_t kInner = 10;
constexpr int64_t kVocabulary = 7;
constexpr int64_t kExperts = 5;

constexpr bool kOptional = true;

// A recipe being put together from parts that architectures share.
class Parts {
  public:
    explicit Parts(std::string_view architecture) : architecture_(architecture) {
        std::vector<std::string> tokens;
        for (int64_t id = 0; id < kVocabulary; ++id) tokens.push_back("token " + std::to_string(id));
        recipe_.metadata = {{"general.architecture", architecture_}, {"tokenizer.ggml.tokens", tokens}};
        key("block_count", kLayers);
        key("context_length", int64_t{64});
        key("embedding_length", kWidth);
        key("feed_forward_length", kInner);
        key("attention.head_count", kHeads);
        once("token_embd.weight", {kVocabulary, kWidth});
    }

    Parts& key(const std::string& name, const MetadataValue& value) {
        recipe_.metadata[architecture_ + "." + name] = value;
        return *this;
    }
    Parts& once(const std::string& name, const ir::Shape& shape, bool optional = false) {
        recipe_.add_tensor(name, shape, optional);
        return *this;
    }
    Parts& layer(const std::string& part, const ir::Shape& shape, bool optional = false) {
        for (int64_t layer = 0; layer < kLayers; ++layer)
            once("blk." + std::to_string(layer) + "." + part, shape, optional);
        return *this;
    }

    Parts& untied() { return once("output.weight", {kVocabulary, kWidth}, kOptional); }

    Parts& rms_norms() {
        return key("attention.layer_norm_rms_epsilon", 1e-5f)
            .layer("attn_norm.weight", {kWidth})
            .layer("ffn_norm.weight", {kWidth})
            .once("output_norm.weight", {kWidth});
    }
    Parts& layer_norms() {
        return key("attention.layer_norm_epsilon", 1e-5f)
            .layer("attn_norm.weight", {kWidth})
            .layer("ffn_norm.weight", {kWidth})
            .once("output_norm.weight", {kWidth});
    }
    Parts& norm_biases(bool optional = false) {
        return layer("attn_norm.bias", {kWidth}, optional)
            .layer("ffn_norm.bias", {kWidth}, optional)
            .once("output_norm.bias", {kWidth}, optional);
    }

    Parts& separate(int64_t kv_heads, int64_t head_width = kHeadWidth) {
        return key("attention.head_count_kv", kv_heads)
            .layer("attn_q.weight", {kHeads * head_width, kWidth})
            .layer("attn_k.weight", {kv_heads * head_width, kWidth})
            .layer("attn_v.weight", {kv_heads * head_width, kWidth})
            .layer("attn_output.weight", {kWidth, kHeads * head_width});
    }
    Parts& head_widths(int64_t width) {
        return key("attention.key_length", width).key("attention.value_length", width);
    }
    Parts& projection_biases() {
        return layer("attn_q.bias", {kHeads * kHeadWidth})
            .layer("attn_k.bias", {kHeadWidth})
            .layer("attn_v.bias", {kHeadWidth});
    }
    Parts& fused(int64_t kv_heads) {
        return layer("attn_qkv.weight", {(kHeads + 2 * kv_heads) * kHeadWidth, kWidth})
            .layer("attn_output.weight", {kWidth, kHeads * kHeadWidth});
    }
    Parts& fused_bias(bool optional = false) {
        return layer("attn_qkv.bias", {3 * kWidth}, optional).output_bias(optional);
    }
    Parts& output_bias(bool optional = false) { return layer("attn_output.bias", {kWidth}, optional); }

    Parts& gated() { return layer("ffn_gate.weight", {kInner, kWidth}).plain(); }
    Parts& plain() {
        return layer("ffn_up.weight", {kInner, kWidth}).layer("ffn_down.weight", {kWidth, kInner});
    }
    Parts& plain_biases(bool optional = false) {
        return layer("ffn_up.bias", {kInner}, optional).layer("ffn_down.bias", {kWidth}, optional);
    }
    Parts& experts(int64_t inner) {
        return key("expert_count", kExperts)
            .key("expert_used_count", int64_t{2})
            .layer("ffn_gate_inp.weight", {kExperts, kWidth})
            .layer("ffn_gate_exps.weight", {kExperts, inner, kWidth})
            .layer("ffn_up_exps.weight", {kExperts, inner, kWidth})
            .layer("ffn_down_exps.weight", {kExperts, kWidth, inner});
    }

    Recipe take() { return std::move(recipe_); }

  private:
    std::string architecture_;
    Recipe recipe_;
};

Recipe command_r() {
    Recipe recipe = Parts("command-r")
                        .layer_norms()
                        .separate(1)
                        .layer("attn_q_norm.weight", {kHeads, kHeadWidth})
                        .layer("attn_k_norm.weight", {1, kHeadWidth})
                        .gated()
                        .key("logit_scale", 0.25f)
                        .take();
    for (const char* name : {"blk.0.ffn_norm.weight", "blk.1.ffn_norm.weight"}) recipe.erase_tensor(name);
    return recipe;
}

Recipe gptneox() {
    return Parts("gptneox")
        .layer_norms()
        .norm_biases()
        .fused(kHeads)
        .fused_bias()
        .plain()
        .plain_biases()
        .untied()
        .key("rope.dimension_count", int64_t{2})
        .key("use_parallel_residual", true)
        .take();
}

Recipe gptneox_sequential() {
    Recipe recipe = gptneox();
    recipe.metadata["gptneox.use_parallel_residual"] = false;
    return recipe;
}

Recipe granite() {
    return Parts("granite")
        .rms_norms()
        .separate(1)
        .gated()
        .key("embedding_scale", 12.0f)
        .key("attention.scale", 0.125f)
        .key("residual_scale", 0.25f)
        .key("logit_scale", 8.0f)
        .take();
}

Recipe mpt() {
    return Parts("mpt")
        .layer_norms()
        .norm_biases(kOptional)
        .fused(kHeads)
        .fused_bias(kOptional)
        .plain()
        .plain_biases(kOptional)
        .key("attention.clamp_kqv", 6.0f)
        .key("attention.max_alibi_bias", 8.0f)
        .take();
}

Recipe mpt_with_learned_positions() {
    Recipe recipe = mpt();
    recipe.metadata.erase("mpt.attention.max_alibi_bias");
    recipe.metadata.erase("mpt.attention.clamp_kqv");
    recipe.add_tensor("position_embd.weight", {64, kWidth}, kOptional);
    return recipe;
}

Recipe olmoe() {
    return Parts("olmoe")
        .rms_norms()
        .separate(1)
        .layer("attn_q_norm.weight", {kWidth})
        .layer("attn_k_norm.weight", {kHeadWidth})
        .experts(kInner)
        .untied()
        .take();
}

Recipe phi3() {
    return Parts("phi3")
        .rms_norms()
        .key("attention.head_count_kv", int64_t{1})
        .fused(1)
        .layer("ffn_up.weight", {2 * kInner, kWidth})
        .layer("ffn_down.weight", {kWidth, kInner})
        .untied()
        .key("rope.dimension_count", kHeadWidth)
        .key("rope.scaling.original_context_length", int64_t{32})
        .key("rope.scaling.attn_factor", 1.25f)
        .key("attention.sliding_window", int64_t{100})
        .once("rope_factors_short.weight", {kHeadWidth / 2})
        .once("rope_factors_long.weight", {kHeadWidth / 2})
        .take();
}

Recipe phi3_short() {
    Recipe recipe = phi3();
    recipe.erase_tensor("rope_factors_short.weight");
    recipe.erase_tensor("rope_factors_long.weight");
    recipe.metadata["phi3.attention.sliding_window"] = int64_t{8};
    return recipe;
}

Recipe qwen2() { return Parts("qwen2").rms_norms().separate(1).projection_biases().gated().untied().take(); }

Recipe qwen2moe() {
    constexpr int64_t kShared = 6;
    return Parts("qwen2moe")
        .rms_norms()
        .separate(1)
        .projection_biases()
        .experts(4)
        .key("expert_feed_forward_length", int64_t{4})
        .key("expert_shared_feed_forward_length", kShared)
        .layer("ffn_gate_inp_shexp.weight", {kWidth})
        .layer("ffn_gate_shexp.weight", {kShared, kWidth})
        .layer("ffn_up_shexp.weight", {kShared, kWidth})
        .layer("ffn_down_shexp.weight", {kWidth, kShared})
        .untied()
        .take();
}

Parts qwen3_attention(std::string_view architecture) {
    return Parts(architecture)
        .rms_norms()
        .separate(1, 6)
        .head_widths(6)
        .layer("attn_q_norm.weight", {6})
        .layer("attn_k_norm.weight", {6});
}

Recipe qwen3() { return qwen3_attention("qwen3").gated().take(); }

Recipe qwen3moe() {
    return qwen3_attention("qwen3moe")
        .experts(4)
        .key("expert_feed_forward_length", int64_t{4})
        .untied()
        .take();
}

Recipe smollm3() { return Parts("smollm3").rms_norms().separate(1).gated().take(); }

Recipe starcoder2() {
    return Parts("starcoder2")
        .layer_norms()
        .norm_biases()
        .separate(1)
        .projection_biases()
        .output_bias()
        .plain()
        .plain_biases()
        .take();
}

}  // namespace

std::span<const NamedRecipe> recipes() {
    static const std::vector<NamedRecipe> recipes{
        {"command-r", command_r()},
        {"gemma2", gemma2_recipe()},
        {"gemma3", gemma3_recipe()},
        {"gpt-oss", gpt_oss_recipe()},
        {"gpt2", gpt2_recipe()},
        {"gptneox", gptneox()},
        {"gptneox sequential", gptneox_sequential()},
        {"granite", granite()},
        {"llama", llama_recipe()},
        {"llama with experts", llama_moe_recipe()},
        {"mpt", mpt()},
        {"mpt with learned positions", mpt_with_learned_positions()},
        {"olmoe", olmoe()},
        {"phi3", phi3()},
        {"phi3 of short context", phi3_short()},
        {"qwen2", qwen2()},
        {"qwen2moe", qwen2moe()},
        {"qwen3", qwen3()},
        {"qwen3moe", qwen3moe()},
        {"smollm3", smollm3()},
        {"starcoder2", starcoder2()}};
    return recipes;
}

Recipe recipe_of(std::string_view name) {
    const auto found = std::ranges::find(recipes(), name, &NamedRecipe::name);
    ENSURE(found != recipes().end(), name);
    return found->recipe;
}

}  // namespace plait::models::test
