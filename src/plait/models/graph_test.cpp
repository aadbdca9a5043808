#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "plait/models/test_graphs.h"

// The graphs that architectures write: which nodes, which weights in which role, which state.
namespace plait::models {
namespace {

using test::Recipe;
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

using test::Loaded;
using test::name_of;
using test::node;
using test::node_names;
using test::ops_of;

TEST(LlamaGraph, ReadsLikeThePaper) {
    Recipe recipe = test::llama_recipe();
    recipe.metadata["llama.block_count"] = int64_t{1};
    const Loaded llama(recipe);
    EXPECT_THAT(node_names(llama.graph()),
                ElementsAre("kv.copy_pages", "token_embd", "rope_angles", "blk.0.attn_norm", "blk.0.attn_q",
                            "blk.0.attn_k", "blk.0.attn_v", "blk.0.q_heads", "blk.0.k_heads", "blk.0.v_heads",
                            "blk.0.q_rope", "blk.0.k_rope", "blk.0.k_write", "blk.0.v_write", "blk.0.attn",
                            "blk.0.attn_merged", "blk.0.attn_output", "blk.0.attn_residual", "blk.0.ffn_norm",
                            "blk.0.ffn_gate", "blk.0.ffn_up", "blk.0.ffn_activation", "blk.0.ffn_down",
                            "blk.0.ffn_residual", "wanted_rows", "output_norm", "output"));
}

TEST(LlamaGraph, HasEachOpAsOftenAsLayersNeed) {
    const Loaded llama(test::llama_recipe());
    EXPECT_THAT(
        ops_of(llama.graph()),
        UnorderedElementsAre(Pair(name_of<ir::CopyPages>(), 1), Pair(name_of<ir::Embed>(), 1),
                             Pair(name_of<ir::RopeAngles>(), 1), Pair(name_of<ir::RmsNorm>(), 2 * 2 + 1),
                             Pair(name_of<ir::Matmul>(), 7 * 2 + 1), Pair(name_of<ir::SplitHeads>(), 3 * 2),
                             Pair(name_of<ir::Rope>(), 2 * 2), Pair(name_of<ir::KvWrite>(), 2 * 2),
                             Pair(name_of<ir::Attention>(), 2), Pair(name_of<ir::MergeHeads>(), 2),
                             Pair(name_of<ir::Add>(), 2 * 2), Pair(name_of<ir::GatedActivate>(), 2),
                             Pair(name_of<ir::GatherRows>(), 1)));
}

TEST(LlamaGraph, RoutesToExperts) {
    const Loaded llama(test::llama_moe_recipe());
    const ir::Graph graph = llama.graph();
    auto counts = ops_of(graph);
    EXPECT_EQ(counts[name_of<ir::Matmul>()], 5 * 2 + 1);
    EXPECT_EQ(counts[name_of<ir::MatmulExperts>()], 3 * 2);
    EXPECT_EQ(counts[name_of<ir::TopKExperts>()], 2);
    EXPECT_EQ(counts[name_of<ir::WeightedSum>()], 2);
    const ir::TopKExperts expected{.used = 2, .renormalise = true, .scale = 1.0f};
    EXPECT_EQ(node(graph, "blk.1.ffn_choice").op, ir::Op(expected));
    EXPECT_EQ(llama.weight("blk.0.ffn_gate_inp.weight").role(), ir::Role::replicated);
    EXPECT_EQ(llama.weight("blk.0.ffn_gate_exps.weight").role(), ir::Role::expert_up);
    EXPECT_EQ(llama.weight("blk.0.ffn_up_exps.weight").role(), ir::Role::expert_up);
    EXPECT_EQ(llama.weight("blk.0.ffn_down_exps.weight").role(), ir::Role::expert_down);
}

TEST(LlamaGraph, AddsTheBiasesAFileHas) {
    const std::map<std::string, ir::Role> roles{
        {"attn_q", ir::Role::query},       {"attn_k", ir::Role::key_value},
        {"attn_v", ir::Role::key_value},   {"ffn_gate", ir::Role::ffn_up},
        {"ffn_up", ir::Role::ffn_up},      {"attn_output", ir::Role::replicated},
        {"ffn_down", ir::Role::replicated}};
    for (const auto& [part, role] : roles) {
        Recipe recipe = test::llama_recipe();
        const std::string stem = "blk.1." + part;
        recipe.add_tensor(stem + ".bias", {recipe.tensor(stem + ".weight").shape[0]});
        const Loaded llama(recipe);
        const ir::Graph graph = llama.graph();
        EXPECT_EQ(ops_of(graph)[name_of<ir::Add>()], 5) << part;
        EXPECT_EQ(node(graph, stem + ".bias").inputs[0], node(graph, stem).outputs[0]) << part;
        EXPECT_EQ(llama.weight(stem + ".bias").role(), role) << part;
    }
}

TEST(LlamaGraph, UsesFrequencyDivisorsIfThereAreAny) {
    Recipe recipe = test::llama_recipe();
    EXPECT_EQ(node(Loaded(recipe).graph(), "rope_angles").inputs.size(), 1u);
    recipe.add_tensor("rope_freqs.weight", {2});
    const Loaded llama(recipe);
    const ir::Graph graph = llama.graph();
    const ir::Node& angles = node(graph, "rope_angles");
    ASSERT_EQ(angles.inputs.size(), 2u);
    EXPECT_EQ(graph.value(angles.inputs[1]).name, "rope_freqs.weight");
    recipe.tensor("rope_freqs.weight").shape = {3};
    EXPECT_THAT(test::refusal(recipe), ::testing::HasSubstr("'rope_freqs.weight': expected shape [2]"));
}

TEST(LlamaGraph, WeightsHaveTheirRoles) {
    const Loaded llama(test::llama_recipe());
    EXPECT_EQ(llama.weight("token_embd.weight").role(), ir::Role::embedding);
    EXPECT_EQ(llama.weight("output.weight").role(), ir::Role::vocabulary);
    EXPECT_EQ(llama.weight("output_norm.weight").role(), ir::Role::replicated);
    EXPECT_EQ(llama.weight("blk.0.attn_norm.weight").role(), ir::Role::replicated);
    EXPECT_EQ(llama.weight("blk.0.attn_q.weight").role(), ir::Role::query);
    EXPECT_EQ(llama.weight("blk.0.attn_k.weight").role(), ir::Role::key_value);
    EXPECT_EQ(llama.weight("blk.0.attn_v.weight").role(), ir::Role::key_value);
    EXPECT_EQ(llama.weight("blk.0.attn_output.weight").role(), ir::Role::attention_output);
    EXPECT_EQ(llama.weight("blk.0.ffn_up.weight").role(), ir::Role::ffn_up);
    EXPECT_EQ(llama.weight("blk.0.ffn_down.weight").role(), ir::Role::ffn_down);
    EXPECT_EQ(llama.weight("blk.0.attn_q.weight").desc, (ir::TensorDesc{ir::DType::F32, {24, 12}}));
}

TEST(LlamaGraph, EveryWeightIsReadAndEveryStateWritten) {
    for (const Recipe& recipe : {test::llama_recipe(), test::llama_moe_recipe(), test::gpt2_recipe(),
                                 test::gemma2_recipe(), test::gemma3_recipe(), test::gpt_oss_recipe()}) {
        const Loaded loaded(recipe);
        const ir::Graph graph = loaded.graph();
        std::vector<int> reads(loaded.model->weights().size());
        for (const ir::Node& reader : graph.nodes()) {
            for (const ir::ValueId id : reader.inputs) {
                const ir::Value& value = graph.value(id);
                if (value.kind == ir::ValueKind::weight) ++reads[static_cast<size_t>(value.index)];
            }
        }
        EXPECT_THAT(reads, ::testing::Each(::testing::Ge(1)));
        const size_t unused = recipe.has_tensor("rope_factors_long.weight") ? 1 : 0;
        EXPECT_EQ(loaded.model->weights().size(), recipe.tensors.size() - unused);
        EXPECT_EQ(ops_of(graph)[name_of<ir::KvWrite>()], 4);
    }
}

TEST(LlamaGraph, ATiedEmbeddingIsOneWeight) {
    Recipe recipe = test::llama_recipe();
    recipe.erase_tensor("output.weight");
    const Loaded llama(recipe);
    EXPECT_EQ(llama.weight("token_embd.weight").role(), ir::Role::tied_embedding);
    const ir::Graph graph = llama.graph();
    EXPECT_EQ(node(graph, "output").inputs[1], node(graph, "token_embd").inputs[0]);
}

TEST(LlamaGraph, OnlyWantedRowsReachTheVocabulary) {
    const Loaded llama(test::llama_recipe());
    const ir::Graph graph = llama.graph();
    ASSERT_EQ(graph.outputs().size(), 1u);
    EXPECT_EQ(graph.value(graph.outputs()[0]).desc,
              (ir::TensorDesc{ir::DType::F32, {3, 7}, ir::Rows::outputs}));
    EXPECT_EQ(graph.value(node(graph, "output_norm").outputs[0]).desc.rows, ir::Rows::outputs);
}

TEST(LlamaGraph, AttentionReadsWhatItsLayerWrote) {
    const Loaded llama(test::llama_recipe());
    const ir::Graph graph = llama.graph();
    for (const std::string layer : {"blk.0.", "blk.1."}) {
        const ir::Node& attention = node(graph, layer + "attn");
        EXPECT_EQ(attention.inputs[0], node(graph, layer + "q_rope").outputs[0]);
        EXPECT_EQ(attention.inputs[1], node(graph, layer + "k_write").outputs[0]);
        EXPECT_EQ(attention.inputs[2], node(graph, layer + "v_write").outputs[0]);
        EXPECT_EQ(graph.value(attention.inputs[1]).name, layer + "k");
        EXPECT_FLOAT_EQ(std::get<ir::Attention>(attention.op).scale, 0.5f);  // keys are 4 wide
    }
}

TEST(LlamaGraph, StateGroupHoldsKeysAndValues) {
    const Loaded llama(test::llama_recipe(),
                       {.context = 16, .key_type = ir::DType::F32, .value_type = ir::DType::Q8_0});
    ASSERT_EQ(llama.model->state_groups().size(), 1u);
    const ir::StateGroupSpec& group = llama.model->state_groups()[0];
    EXPECT_EQ(group.tensors.size(), 4u);
    // two layers of two heads: 4 floats for keys, 3 values padded to one block of 34 bytes
    EXPECT_EQ(group.bytes_per_token(), 2 * 2 * (4 * 4 + 34));
    const ir::Graph graph = llama.graph();
    EXPECT_EQ(graph.value(node(graph, "blk.1.v_write").outputs[0]).desc,
              (ir::TensorDesc{ir::DType::Q8_0, {5, 2, 8, 3}}));
    EXPECT_THAT(graph.groups(), ElementsAre(ir::StepGroupLimits{8, 4}));
}

TEST(LlamaGraph, TapsShowEveryLayer) {
    const Loaded llama(test::llama_recipe());
    const ir::Graph graph = llama.graph(true);
    EXPECT_EQ(ops_of(graph)[name_of<ir::Tap>()], 2);
    EXPECT_EQ(node(graph, "blk.0.out").op, ir::Op(ir::Tap{.id = 0}));
    EXPECT_EQ(node(graph, "blk.1.out").op, ir::Op(ir::Tap{.id = 1}));
    EXPECT_EQ(node(graph, "wanted_rows").inputs[0], node(graph, "blk.1.out").outputs[0]);
}

TEST(Gpt2Graph, ReadsLikeThePaper) {
    Recipe recipe = test::gpt2_recipe();
    recipe.metadata["gpt2.block_count"] = int64_t{1};
    EXPECT_THAT(
        node_names(Loaded(recipe).graph()),
        ElementsAre("kv.copy_pages", "token_embd", "position_embd", "embd", "blk.0.attn_norm",
                    "blk.0.attn_qkv", "blk.0.attn_qkv.bias", "blk.0.attn_q", "blk.0.attn_k", "blk.0.attn_v",
                    "blk.0.q_heads", "blk.0.k_heads", "blk.0.v_heads", "blk.0.k_write", "blk.0.v_write",
                    "blk.0.attn", "blk.0.attn_merged", "blk.0.attn_output", "blk.0.attn_output.bias",
                    "blk.0.attn_residual", "blk.0.ffn_norm", "blk.0.ffn_up", "blk.0.ffn_up.bias",
                    "blk.0.ffn_activation", "blk.0.ffn_down", "blk.0.ffn_down.bias", "blk.0.ffn_residual",
                    "wanted_rows", "output_norm", "output"));
}

TEST(Gpt2Graph, SlicesTheFusedProjection) {
    const Loaded gpt2(test::gpt2_recipe());
    const ir::Graph graph = gpt2.graph();
    EXPECT_EQ(node(graph, "blk.1.attn_q").op, ir::Op(ir::Slice{.begin = 0, .extent = 12}));
    EXPECT_EQ(node(graph, "blk.1.attn_k").op, ir::Op(ir::Slice{.begin = 12, .extent = 12}));
    EXPECT_EQ(node(graph, "blk.1.attn_v").op, ir::Op(ir::Slice{.begin = 24, .extent = 12}));
    EXPECT_EQ(gpt2.weight("blk.1.attn_qkv.weight").role(), ir::Role::fused_query_key_value);
    EXPECT_EQ(gpt2.weight("blk.1.attn_qkv.bias").role(), ir::Role::fused_query_key_value);
    EXPECT_EQ(gpt2.weight("position_embd.weight").role(), ir::Role::position_embedding);
    EXPECT_EQ(gpt2.weight("token_embd.weight").role(), ir::Role::tied_embedding);
}

TEST(Gpt2Graph, TakesAnOutputMatrixOfItsOwn) {
    Recipe recipe = test::gpt2_recipe();
    recipe.add_tensor("output.weight", {7, 12});
    const Loaded gpt2(recipe);
    EXPECT_EQ(gpt2.weight("output.weight").role(), ir::Role::vocabulary);
    EXPECT_EQ(gpt2.weight("token_embd.weight").role(), ir::Role::embedding);
}

// A layer's nodes, without those of attention itself and without "blk.0.".
std::string layer_nodes(const char* recipe) {
    const std::set<std::string> attention{"q_heads", "k_heads", "v_heads",    "k_write",
                                          "v_write", "attn",    "attn_merged"};
    std::string names;
    for (std::string name : node_names(Loaded(test::recipe_of(recipe)).graph())) {
        if (!name.starts_with("blk.0.")) continue;
        name.erase(0, 6);
        if (!attention.contains(name)) names += (names.empty() ? "" : " ") + name;
    }
    return names;
}

struct LayerCase {
    const char* recipe;
    const char* nodes;
};

TEST(DecoderGraph, LayersReadLikeTheirPapers) {
    for (const auto& [recipe, nodes] : {
             LayerCase{"command-r",
                       "attn_norm attn_q attn_k attn_v attn_q_norm attn_k_norm q_rope k_rope attn_output "
                       "attn_residual "
                       "ffn_gate ffn_up ffn_activation ffn_down ffn_residual"},
             LayerCase{"gptneox",
                       "attn_norm attn_qkv attn_qkv.bias attn_q attn_k attn_v q_rope k_rope attn_output "
                       "attn_output.bias "
                       "attn_residual ffn_norm ffn_up ffn_up.bias ffn_activation ffn_down ffn_down.bias "
                       "ffn_residual"},
             LayerCase{"granite",
                       "attn_norm attn_q attn_k attn_v q_rope k_rope attn_output attn_residual_scaled "
                       "attn_residual "
                       "ffn_norm ffn_gate ffn_up ffn_activation ffn_down ffn_residual_scaled ffn_residual"},
             LayerCase{"mpt",
                       "attn_norm attn_qkv attn_qkv.bias attn_qkv_clamped attn_q attn_k attn_v attn_output "
                       "attn_output.bias attn_residual ffn_norm ffn_up ffn_up.bias ffn_activation ffn_down "
                       "ffn_down.bias "
                       "ffn_residual"},
             LayerCase{"olmoe",
                       "attn_norm attn_q attn_k attn_v attn_q_norm attn_k_norm q_rope k_rope attn_output "
                       "attn_residual "
                       "ffn_norm ffn_gate_inp ffn_choice ffn_gate_exps ffn_up_exps ffn_activation "
                       "ffn_down_exps ffn_sum "
                       "ffn_residual"},
             LayerCase{"phi3",
                       "attn_norm attn_qkv attn_q attn_k attn_v q_rope k_rope attn_output attn_residual "
                       "ffn_norm ffn_up "
                       "ffn_gate_half ffn_up_half ffn_activation ffn_down ffn_residual"},
             LayerCase{"qwen2",
                       "attn_norm attn_q attn_q.bias attn_k attn_k.bias attn_v attn_v.bias q_rope k_rope "
                       "attn_output "
                       "attn_residual ffn_norm ffn_gate ffn_up ffn_activation ffn_down ffn_residual"},
             LayerCase{
                 "qwen2moe",
                 "attn_norm attn_q attn_q.bias attn_k attn_k.bias attn_v attn_v.bias q_rope k_rope "
                 "attn_output "
                 "attn_residual ffn_norm ffn_gate_inp ffn_choice ffn_gate_exps ffn_up_exps ffn_activation "
                 "ffn_down_exps ffn_sum ffn_gate_inp_shexp ffn_gate_shexp_weight ffn_gate_shexp ffn_up_shexp "
                 "ffn_activation_shexp ffn_down_shexp ffn_shexp ffn_shexp_sum ffn_out ffn_residual"},
             LayerCase{"qwen3",
                       "attn_norm attn_q attn_k attn_v attn_q_norm attn_k_norm q_rope k_rope attn_output "
                       "attn_residual "
                       "ffn_norm ffn_gate ffn_up ffn_activation ffn_down ffn_residual"},
             LayerCase{"starcoder2",
                       "attn_norm attn_q attn_q.bias attn_k attn_k.bias attn_v attn_v.bias q_rope k_rope "
                       "attn_output "
                       "attn_output.bias attn_residual ffn_norm ffn_up ffn_up.bias ffn_activation ffn_down "
                       "ffn_down.bias "
                       "ffn_residual"},
         })
        EXPECT_EQ(layer_nodes(recipe), nodes) << recipe;
}

TEST(DecoderGraph, HalvesOfALayerMayStandSideBySide) {
    const ir::Graph graph = Loaded(test::recipe_of("gptneox")).graph();
    EXPECT_EQ(node(graph, "blk.1.ffn_norm").inputs[0], node(graph, "blk.1.attn_norm").inputs[0]);
    EXPECT_EQ(node(graph, "blk.1.ffn_residual").inputs[0], node(graph, "blk.1.attn_residual").outputs[0]);
    const ir::Graph sequential = Loaded(test::recipe_of("gptneox sequential")).graph();
    EXPECT_EQ(node(sequential, "blk.1.ffn_norm").inputs[0],
              node(sequential, "blk.1.attn_residual").outputs[0]);
    const ir::Graph shared = Loaded(test::recipe_of("command-r")).graph();
    EXPECT_EQ(node(shared, "blk.1.ffn_up").inputs[0], node(shared, "blk.1.attn_norm").outputs[0]);
}

TEST(DecoderGraph, TurnsThePairsThatFilesAreLaidOutFor) {
    for (const auto& [name, recipe] : test::recipes()) {
        const std::string& architecture = std::get<std::string>(recipe.metadata.at("general.architecture"));
        const bool none = architecture == "gpt2" || architecture == "mpt";
        const bool adjacent = architecture == "llama" || architecture == "granite" ||
                              architecture == "smollm3" || architecture == "command-r";
        const ir::Graph graph = Loaded(recipe).graph();
        EXPECT_EQ(ops_of(graph)[name_of<ir::Rope>()], none ? 0 : 4) << name;
        if (none) continue;
        EXPECT_EQ(std::get<ir::Rope>(node(graph, "blk.1.k_rope").op).pairs,
                  adjacent ? ir::RopePairs::adjacent : ir::RopePairs::halves)
            << name;
    }
}

TEST(DecoderGraph, EveryFourthLayerOfSmollm3IsNotRotated) {
    Recipe recipe = test::recipe_of("smollm3");
    recipe.metadata["smollm3.block_count"] = int64_t{9};
    const std::vector<test::RecipeTensor> of_two = recipe.tensors;
    for (const test::RecipeTensor& tensor : of_two)
        for (int layer = 2; layer < 9 && tensor.name.starts_with("blk.0."); ++layer)
            recipe.add_tensor("blk." + std::to_string(layer) + tensor.name.substr(5), tensor.shape);
    const ir::Graph graph = Loaded(recipe).graph();
    std::vector<int> rotated;
    const std::vector<std::string> names = node_names(graph);
    for (int layer = 0; layer < 9; ++layer)
        if (std::ranges::count(names, "blk." + std::to_string(layer) + ".q_rope") == 1)
            rotated.push_back(layer);
    EXPECT_THAT(rotated, ElementsAre(0, 1, 2, 4, 5, 6, 8));
}

TEST(DecoderGraph, ScalesWhatFilesSay) {
    const ir::Graph granite = Loaded(test::recipe_of("granite")).graph();
    EXPECT_EQ(node(granite, "token_embd_scaled").op, ir::Op(ir::Scale{12.0f}));
    EXPECT_EQ(node(granite, "blk.1.attn_residual_scaled").op, ir::Op(ir::Scale{0.25f}));
    EXPECT_EQ(node(granite, "blk.1.ffn_residual_scaled").op, ir::Op(ir::Scale{0.25f}));
    EXPECT_EQ(node(granite, "output_scaled").op, ir::Op(ir::Scale{0.125f}));  // divided by 8
    EXPECT_EQ(std::get<ir::Attention>(node(granite, "blk.1.attn").op).scale, 0.125f);
    const ir::Graph command_r = Loaded(test::recipe_of("command-r")).graph();
    EXPECT_EQ(node(command_r, "output_scaled").op, ir::Op(ir::Scale{0.25f}));
    EXPECT_EQ(std::get<ir::Attention>(node(command_r, "blk.1.attn").op).scale, 0.5f);
}

TEST(DecoderGraph, MptKnowsDistancesOrPositions) {
    const ir::Graph distances = Loaded(test::recipe_of("mpt")).graph();
    const auto& alibi = std::get<ir::Attention>(node(distances, "blk.1.attn").op).alibi;
    EXPECT_EQ(alibi, (ir::Alibi{.max_bias = 8.0f, .all_heads = 3}));
    EXPECT_EQ(node(distances, "blk.1.attn_qkv_clamped").op, ir::Op(ir::Clamp{6.0f}));
    const Loaded positions(test::recipe_of("mpt with learned positions"));
    EXPECT_EQ(std::get<ir::Attention>(node(positions.graph(), "blk.1.attn").op).alibi.max_bias, 0.0f);
    EXPECT_EQ(node(positions.graph(), "position_embd").outputs[0], node(positions.graph(), "embd").inputs[1]);
    EXPECT_EQ(positions.model->summary().max_context, 64);
    EXPECT_EQ(Loaded(test::recipe_of("mpt")).model->summary().max_context, 0);
}

TEST(DecoderGraph, ChoosesExpertsAsTheirModelsDo) {
    for (const auto& [recipe, renormalise] :
         {std::pair{"olmoe", false}, {"qwen2moe", false}, {"qwen3moe", true}}) {
        const ir::TopKExperts expected{.used = 2, .renormalise = renormalise, .scale = 1.0f};
        EXPECT_EQ(node(Loaded(test::recipe_of(recipe)).graph(), "blk.1.ffn_choice").op, ir::Op(expected))
            << recipe;
    }
}

TEST(DecoderGraph, ActivatesAsPublished) {
    for (const auto& [recipe, activation] : {std::pair{"gpt2", ir::Activation::gelu_tanh},
                                             {"gptneox", ir::Activation::gelu_erf},
                                             {"mpt", ir::Activation::gelu_erf},
                                             {"starcoder2", ir::Activation::gelu_tanh}})
        EXPECT_EQ(node(Loaded(test::recipe_of(recipe)).graph(), "blk.1.ffn_activation").op,
                  ir::Op(ir::Activate{activation}))
            << recipe;
}

TEST(DecoderGraph, SlicesTheFusedNetworkGateFirst) {
    const Loaded phi3(test::recipe_of("phi3"));
    const ir::Graph graph = phi3.graph();
    EXPECT_EQ(node(graph, "blk.1.ffn_gate_half").op, ir::Op(ir::Slice{.begin = 0, .extent = 10}));
    EXPECT_EQ(node(graph, "blk.1.ffn_up_half").op, ir::Op(ir::Slice{.begin = 10, .extent = 10}));
    EXPECT_EQ(node(graph, "blk.1.ffn_activation").inputs[0], node(graph, "blk.1.ffn_gate_half").outputs[0]);
    EXPECT_EQ(phi3.weight("blk.1.ffn_up.weight").role(), ir::Role::fused_gate_up);
}

TEST(DecoderGraph, NormsOfEachHeadAreCutByHeads) {
    const Loaded command_r(test::recipe_of("command-r"));
    EXPECT_EQ(command_r.weight("blk.1.attn_q_norm.weight").role(), ir::Role::query);
    EXPECT_EQ(command_r.weight("blk.1.attn_k_norm.weight").role(), ir::Role::key_value);
    EXPECT_EQ(Loaded(test::recipe_of("qwen3")).weight("blk.1.attn_q_norm.weight").role(),
              ir::Role::replicated);
}

TEST(GraphDeathTest, NeedsPagesForEveryGroup) {
    const Loaded llama(test::llama_recipe());
    EXPECT_DEATH(llama.model->build({.capacity = {.tokens = 1}}), "every state group has its pages");
}

}  // namespace
}  // namespace plait::models
