#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "plait/base/error.h"
#include "plait/models/test_graphs.h"

// Architectures whose layers look back differently far: Gemma 2 and 3, gpt-oss.
namespace plait::models {
namespace {

using test::Loaded;
using test::name_of;
using test::node;
using test::node_names;
using test::ops_of;
using test::Recipe;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

ir::Attention attention(const ir::Graph& graph, int64_t layer) {
    return std::get<ir::Attention>(node(graph, "blk." + std::to_string(layer) + ".attn").op);
}

ir::RopeAngles angles(const ir::Graph& graph, const char* name) {
    return std::get<ir::RopeAngles>(node(graph, name).op);
}

// Copies the second layer's tensors of a two-layer recipe until there are `layers`.
Recipe with_layers(Recipe recipe, int64_t layers) {
    const std::string architecture = std::get<std::string>(recipe.metadata["general.architecture"]);
    recipe.metadata[architecture + ".block_count"] = layers;
    const std::vector<test::RecipeTensor> given = recipe.tensors;
    for (const test::RecipeTensor& tensor : given) {
        if (!tensor.name.starts_with("blk.1.")) continue;
        for (int64_t layer = 2; layer < layers; ++layer)
            recipe.tensors.push_back(
                {"blk." + std::to_string(layer) + tensor.name.substr(5), tensor.shape, tensor.type});
    }
    return recipe;
}

TEST(Gemma3Graph, ReadsLikeThePaper) {
    Recipe recipe = test::gemma3_recipe();
    recipe.metadata["gemma3.block_count"] = int64_t{1};
    EXPECT_THAT(
        node_names(Loaded(recipe).graph()),
        ElementsAre("kv_window_5.copy_pages", "token_embd", "embedding_scale", "rope_angles",
                    "local_rope_angles", "blk.0.attn_norm", "blk.0.attn_q", "blk.0.attn_k", "blk.0.attn_v",
                    "blk.0.q_heads", "blk.0.k_heads", "blk.0.v_heads", "blk.0.attn_q_norm",
                    "blk.0.attn_k_norm", "blk.0.q_rope", "blk.0.k_rope", "blk.0.k_write", "blk.0.v_write",
                    "blk.0.attn", "blk.0.attn_merged", "blk.0.attn_output", "blk.0.post_attention_norm",
                    "blk.0.attn_residual", "blk.0.ffn_norm", "blk.0.ffn_gate", "blk.0.ffn_up",
                    "blk.0.ffn_activation", "blk.0.ffn_down", "blk.0.post_ffw_norm", "blk.0.ffn_residual",
                    "wanted_rows", "output_norm", "output"));
}

TEST(Gemma3Graph, HasFiveLocalLayersForAGlobalOne) {
    const Loaded gemma(with_layers(test::gemma3_recipe(), 13));
    const ir::Graph graph = gemma.graph();
    const auto groups = gemma.model->state_groups();
    ASSERT_EQ(groups.size(), 2u);
    EXPECT_EQ(groups[0].name, "kv_window_5");
    EXPECT_EQ(groups[0].window, 5);
    EXPECT_EQ(groups[0].tensors.size(), 11u * 2);
    EXPECT_EQ(groups[1].name, "kv");
    EXPECT_EQ(groups[1].window, 0);
    EXPECT_EQ(groups[1].tensors.size(), 2u * 2);
    for (int64_t layer = 0; layer < 13; ++layer) {
        const std::string name = "blk." + std::to_string(layer) + ".";
        const bool is_global = layer == 5 || layer == 11;
        EXPECT_EQ(attention(graph, layer).window, is_global ? 0 : 5) << layer;
        EXPECT_EQ(attention(graph, layer).group, is_global ? 1 : 0) << layer;
        EXPECT_EQ(std::get<ir::KvWrite>(node(graph, name + "v_write").op).group, is_global ? 1 : 0);
        EXPECT_EQ(node(graph, name + "q_rope").inputs[1],
                  node(graph, is_global ? "rope_angles" : "local_rope_angles").outputs[0]);
        EXPECT_EQ(graph.value(node(graph, name + "attn").inputs[1]).name, name + "k");
        EXPECT_EQ(graph.value(node(graph, name + "attn").inputs[2]).name, name + "v");
    }
}

TEST(Gemma3Graph, FilesMaySayWhichLayersAreLocal) {
    Recipe recipe = with_layers(test::gemma3_recipe(), 4);
    recipe.metadata["gemma3.attention.sliding_window_pattern"] = int64_t{2};
    recipe.metadata["gemma3.rope.freq_base_swa"] = 20000.0f;
    const ir::Graph by_period = Loaded(recipe).graph();
    EXPECT_EQ(attention(by_period, 0).window, 5);
    EXPECT_EQ(attention(by_period, 1).window, 0);
    EXPECT_EQ(attention(by_period, 3).window, 0);
    EXPECT_EQ(angles(by_period, "local_rope_angles").base, 20000.0f);

    recipe.metadata["gemma3.attention.sliding_window_pattern"] = std::vector<bool>{false, true, true, false};
    const ir::Graph by_layer = Loaded(recipe).graph();
    EXPECT_EQ(attention(by_layer, 0).window, 0);
    EXPECT_EQ(attention(by_layer, 1).window, 5);
    EXPECT_EQ(attention(by_layer, 3).window, 0);

    recipe.metadata["gemma3.attention.sliding_window_pattern"] = std::vector<bool>{true};
    EXPECT_THAT([&] { Loaded{recipe}; },
                testing::ThrowsMessage<plait::Error>(testing::HasSubstr("a flag for each of 4 layers")));
}

TEST(Gemma3Graph, TurnsLocalAndGlobalPositionsAtTheirOwnRates) {
    Recipe recipe = test::gemma3_recipe();
    recipe.metadata["gemma3.rope.scaling.type"] = std::string("linear");
    recipe.metadata["gemma3.rope.scaling.factor"] = 8.0f;
    const ir::Graph graph = Loaded(recipe).graph();
    EXPECT_EQ(
        angles(graph, "rope_angles"),
        (ir::RopeAngles{.dims = 4, .base = 1000000.0f, .scaling = ir::RopeScaling::linear, .factor = 8.0f}));
    EXPECT_EQ(angles(graph, "local_rope_angles"), (ir::RopeAngles{.dims = 4, .base = 10000.0f}));
    EXPECT_EQ(node(graph, "blk.0.q_rope").op, ir::Op(ir::Rope{.pairs = ir::RopePairs::halves}));
}

TEST(Gemma3Graph, ScalesEmbeddingsAndScores) {
    const ir::Graph graph = Loaded(test::gemma3_recipe()).graph();
    EXPECT_EQ(node(graph, "embedding_scale").op, ir::Op(ir::Scale{.factor = std::sqrt(12.0f)}));
    EXPECT_FLOAT_EQ(attention(graph, 0).scale, 0.5f);  // keys are 4 wide
    EXPECT_EQ(attention(graph, 0).soft_cap, 0.0f);
    EXPECT_EQ(node(graph, "blk.0.ffn_activation").op,
              ir::Op(ir::GatedActivate{.activation = ir::Activation::gelu_tanh}));
    EXPECT_EQ(ops_of(graph)[name_of<ir::SoftCap>()], 0);
    // The 27B model has 62 layers and divides its width by its heads.
    const ir::Graph large = Loaded(with_layers(test::gemma3_recipe(), 62)).graph();
    EXPECT_FLOAT_EQ(attention(large, 61).scale, 1.0f / std::sqrt(12.0f / 6.0f));
}

TEST(Gemma3Graph, NormsEveryHeadByItself) {
    const ir::Graph graph = Loaded(test::gemma3_recipe()).graph();
    const ir::Node& query_norm = node(graph, "blk.1.attn_q_norm");
    EXPECT_EQ(query_norm.op, ir::Op(ir::RmsNorm{.epsilon = 1e-6f}));
    EXPECT_EQ(graph.value(query_norm.outputs[0]).desc.shape, (ir::Shape{9, 6, 4}));
    EXPECT_EQ(node(graph, "blk.1.q_rope").inputs[0], query_norm.outputs[0]);
    EXPECT_EQ(node(graph, "blk.1.k_rope").inputs[0], node(graph, "blk.1.attn_k_norm").outputs[0]);
}

TEST(Gemma2Graph, TakesTurnsAndCaps) {
    const Loaded gemma(with_layers(test::gemma2_recipe(), 4));
    const ir::Graph graph = gemma.graph();
    for (int64_t layer = 0; layer < 4; ++layer) {
        EXPECT_EQ(attention(graph, layer).window, layer % 2 == 0 ? 5 : 0) << layer;
        EXPECT_EQ(attention(graph, layer).soft_cap, 40.0f);
        EXPECT_FLOAT_EQ(attention(graph, layer).scale, 0.5f);
    }
    EXPECT_EQ(ops_of(graph)[name_of<ir::RopeAngles>()], 1);
    EXPECT_THAT(node_names(graph), Not(Contains("blk.0.attn_q_norm")));
    EXPECT_EQ(node(graph, "output_cap").op, ir::Op(ir::SoftCap{.cap = 20.0f}));
    EXPECT_EQ(graph.outputs()[0], node(graph, "output_cap").outputs[0]);
    EXPECT_EQ(gemma.weight("token_embd.weight").role(), ir::Role::tied_embedding);
    const ir::Graph large = Loaded(with_layers(test::gemma2_recipe(), 46)).graph();
    EXPECT_FLOAT_EQ(attention(large, 0).scale, 1.0f / std::sqrt(12.0f / 6.0f));
}

TEST(Gemma2Graph, HasDefaultsForFilesThatSayNothing) {
    Recipe recipe = test::gemma2_recipe();
    for (const char* key : {"attention.sliding_window", "attn_logit_softcapping", "final_logit_softcapping"})
        recipe.metadata.erase("gemma2." + std::string(key));
    const ir::Graph graph = Loaded(recipe).graph();
    EXPECT_EQ(attention(graph, 0).window, 4096);
    EXPECT_EQ(attention(graph, 0).soft_cap, 50.0f);
    EXPECT_EQ(node(graph, "output_cap").op, ir::Op(ir::SoftCap{.cap = 30.0f}));
}

TEST(GptOssGraph, ReadsLikeThePaper) {
    Recipe recipe = test::gpt_oss_recipe();
    recipe.metadata["gpt-oss.block_count"] = int64_t{1};
    EXPECT_THAT(node_names(Loaded(recipe).graph()),
                ElementsAre("kv_window_5.copy_pages", "token_embd", "rope_angles", "blk.0.attn_norm",
                            "blk.0.attn_q", "blk.0.attn_q.bias", "blk.0.attn_k", "blk.0.attn_k.bias",
                            "blk.0.attn_v", "blk.0.attn_v.bias", "blk.0.q_heads", "blk.0.k_heads",
                            "blk.0.v_heads", "blk.0.q_rope", "blk.0.k_rope", "blk.0.k_write", "blk.0.v_write",
                            "blk.0.attn", "blk.0.attn_merged", "blk.0.attn_output", "blk.0.attn_output.bias",
                            "blk.0.attn_residual", "blk.0.post_attention_norm", "blk.0.ffn_gate_inp",
                            "blk.0.ffn_gate_inp.bias", "blk.0.ffn_choice", "blk.0.ffn_gate_exps",
                            "blk.0.ffn_gate_exps.bias", "blk.0.ffn_up_exps", "blk.0.ffn_up_exps.bias",
                            "blk.0.ffn_activation", "blk.0.ffn_down_exps", "blk.0.ffn_down_exps.bias",
                            "blk.0.ffn_sum", "blk.0.ffn_residual", "wanted_rows", "output_norm", "output"));
}

TEST(GptOssGraph, HasSinksAndEveryOtherLayerAWindow) {
    const Loaded model(test::gpt_oss_recipe());
    const ir::Graph graph = model.graph();
    EXPECT_EQ(attention(graph, 0).window, 5);
    EXPECT_EQ(attention(graph, 1).window, 0);
    for (const std::string layer : {"blk.0.", "blk.1."}) {
        const ir::Node& attends = node(graph, layer + "attn");
        ASSERT_EQ(attends.inputs.size(), 4u);
        EXPECT_EQ(graph.value(attends.inputs[3]).name, layer + "attn_sinks.weight");
        EXPECT_EQ(model.weight(layer + "attn_sinks.weight").role(), ir::Role::query);
    }
}

TEST(GptOssGraph, GatesAndChoosesInItsOwnWay) {
    const Loaded model(test::gpt_oss_recipe());
    const ir::Graph graph = model.graph();
    EXPECT_EQ(node(graph, "blk.0.ffn_activation").op,
              ir::Op(ir::ClampedSwiglu{.limit = 7.0f, .alpha = 1.702f}));
    // The softmax of the chosen logits alone.
    const ir::TopKExperts choice{.used = 2, .renormalise = true, .scale = 1.0f};
    EXPECT_EQ(node(graph, "blk.0.ffn_choice").op, ir::Op(choice));
    const ir::Node& bias = node(graph, "blk.1.ffn_down_exps.bias");
    EXPECT_EQ(bias.inputs[0], node(graph, "blk.1.ffn_down_exps").outputs[0]);
    EXPECT_EQ(bias.inputs[2], node(graph, "blk.1.ffn_choice").outputs[0]);
    EXPECT_EQ(model.weight("blk.0.ffn_gate_exps.bias").role(), ir::Role::expert_up);
    EXPECT_EQ(model.weight("blk.0.ffn_down_exps.bias").role(), ir::Role::expert_down_bias);
}

TEST(GptOssGraph, StretchesItsContextWithYarn) {
    Recipe recipe = test::gpt_oss_recipe();
    recipe.metadata["gpt-oss.rope.scaling.type"] = std::string("yarn");
    recipe.metadata["gpt-oss.rope.scaling.factor"] = 32.0f;
    recipe.metadata["gpt-oss.rope.scaling.original_context_length"] = int64_t{4096};
    const ir::RopeAngles rope = angles(Loaded(recipe).graph(), "rope_angles");
    EXPECT_EQ(rope.scaling, ir::RopeScaling::yarn);
    EXPECT_EQ(rope.factor, 32.0f);
    EXPECT_EQ(rope.original_context, 4096);
}

TEST(GptOssGraph, IsNothingWithoutExperts) {
    Recipe recipe = test::gpt_oss_recipe();
    recipe.metadata["gpt-oss.expert_used_count"] = int64_t{6};
    EXPECT_THAT(test::refusal(recipe), HasSubstr("at most the 5 experts there are"));
    recipe.metadata["gpt-oss.expert_count"] = int64_t{0};
    EXPECT_THAT(test::refusal(recipe), HasSubstr("'gpt-oss.expert_count': expected a number"));
}

TEST(PeriodicWindows, LeaveEveryPeriodthLayerWithout) {
    const auto windows_of = [](const Recipe& recipe) {
        std::vector<int64_t> windows;
        const Loaded loaded(recipe);
        for (const ir::StateGroupSpec& group : loaded.model->state_groups()) windows.push_back(group.window);
        return windows;
    };
    EXPECT_THAT(windows_of(test::gemma3_recipe()), ElementsAre(5));  // two layers, both local
    EXPECT_THAT(windows_of(test::gemma2_recipe()), ElementsAre(5, 0));
    EXPECT_THAT(windows_of(test::llama_recipe()), ElementsAre(0));
}

}  // namespace
}  // namespace plait::models
