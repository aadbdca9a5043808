#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

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
    EXPECT_EQ(llama.weight("blk.0.ffn_gate_inp.weight").role, ir::Role::replicated);
    EXPECT_EQ(llama.weight("blk.0.ffn_gate_exps.weight").role, ir::Role::expert_up);
    EXPECT_EQ(llama.weight("blk.0.ffn_up_exps.weight").role, ir::Role::expert_up);
    EXPECT_EQ(llama.weight("blk.0.ffn_down_exps.weight").role, ir::Role::expert_down);
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
        EXPECT_EQ(llama.weight(stem + ".bias").role, role) << part;
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
    EXPECT_EQ(llama.weight("token_embd.weight").role, ir::Role::embedding);
    EXPECT_EQ(llama.weight("output.weight").role, ir::Role::vocabulary);
    EXPECT_EQ(llama.weight("output_norm.weight").role, ir::Role::replicated);
    EXPECT_EQ(llama.weight("blk.0.attn_norm.weight").role, ir::Role::replicated);
    EXPECT_EQ(llama.weight("blk.0.attn_q.weight").role, ir::Role::query);
    EXPECT_EQ(llama.weight("blk.0.attn_k.weight").role, ir::Role::key_value);
    EXPECT_EQ(llama.weight("blk.0.attn_v.weight").role, ir::Role::key_value);
    EXPECT_EQ(llama.weight("blk.0.attn_output.weight").role, ir::Role::attention_output);
    EXPECT_EQ(llama.weight("blk.0.ffn_up.weight").role, ir::Role::ffn_up);
    EXPECT_EQ(llama.weight("blk.0.ffn_down.weight").role, ir::Role::ffn_down);
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
        EXPECT_EQ(loaded.model->weights().size(), recipe.tensors.size());
        EXPECT_EQ(ops_of(graph)[name_of<ir::KvWrite>()], 4);
    }
}

TEST(LlamaGraph, ATiedEmbeddingIsOneWeight) {
    Recipe recipe = test::llama_recipe();
    recipe.erase_tensor("output.weight");
    const Loaded llama(recipe);
    EXPECT_EQ(llama.weight("token_embd.weight").role, ir::Role::tied_embedding);
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
    EXPECT_EQ(gpt2.weight("blk.1.attn_qkv.weight").role, ir::Role::fused_query_key_value);
    EXPECT_EQ(gpt2.weight("blk.1.attn_qkv.bias").role, ir::Role::fused_query_key_value);
    EXPECT_EQ(gpt2.weight("position_embd.weight").role, ir::Role::position_embedding);
    EXPECT_EQ(gpt2.weight("token_embd.weight").role, ir::Role::tied_embedding);
}

TEST(Gpt2Graph, TakesAnOutputMatrixOfItsOwn) {
    Recipe recipe = test::gpt2_recipe();
    recipe.add_tensor("output.weight", {7, 12});
    const Loaded gpt2(recipe);
    EXPECT_EQ(gpt2.weight("output.weight").role, ir::Role::vocabulary);
    EXPECT_EQ(gpt2.weight("token_embd.weight").role, ir::Role::embedding);
}

TEST(GraphDeathTest, NeedsPagesForEveryGroup) {
    const Loaded llama(test::llama_recipe());
    EXPECT_DEATH(llama.model->build({.capacity = {.tokens = 1}}), "every state group has its pages");
}

}  // namespace
}  // namespace plait::models
