#pragma once

#include <algorithm>

#include "plait/tools/synth_arch.h"

// What the tables of several architectures are made of.
namespace plait::tools {

// --- conditions

constexpr bool always(const SynthSize&) { return true; }
constexpr bool dense(const SynthSize& size) { return size.experts == 0; }
constexpr bool mixture(const SynthSize& size) { return size.experts > 0; }
constexpr bool own_head_dim(const SynthSize& size) { return size.head_dim * size.heads != size.width; }

// --- numbers

constexpr int64_t layers(const SynthSize& size) { return size.layers; }
constexpr int64_t context(const SynthSize& size) { return size.ctx; }
constexpr int64_t window(const SynthSize& size) { return size.window; }
constexpr int64_t width(const SynthSize& size) { return size.width; }
constexpr int64_t vocab(const SynthSize& size) { return size.vocab; }
constexpr int64_t heads(const SynthSize& size) { return size.heads; }
constexpr int64_t kv_heads(const SynthSize& size) { return size.kv_heads; }
constexpr int64_t head_dim(const SynthSize& size) { return size.head_dim; }
constexpr int64_t query(const SynthSize& size) { return size.heads * size.head_dim; }
constexpr int64_t key_value(const SynthSize& size) { return size.kv_heads * size.head_dim; }
constexpr int64_t fused_qkv(const SynthSize& size) { return query(size) + 2 * key_value(size); }
constexpr int64_t ffn(const SynthSize& size) { return size.ffn; }
constexpr int64_t fused_ffn(const SynthSize& size) { return 2 * size.ffn; }
constexpr int64_t experts(const SynthSize& size) { return size.experts; }
constexpr int64_t used_experts(const SynthSize& size) { return size.used; }
// Of experts that have a width of their own: those a token uses are together as wide as a dense network.
constexpr int64_t expert_ffn(const SynthSize& size) { return std::max<int64_t>(1, size.ffn / size.used); }

// --- rows of tables

constexpr SynthTensor once(std::string_view name, std::array<SynthExtent, 3> shape, SynthFill fill) {
    return {name, false, shape, fill, fill == SynthFill::matrix, always};
}

constexpr SynthTensor per_layer(std::string_view name, std::array<SynthExtent, 3> shape, SynthFill fill,
                                SynthCondition condition = always) {
    return {name, true, shape, fill, fill == SynthFill::matrix, condition};
}

// For matrices and tables that files never store in a block format.
constexpr SynthTensor in_f32(SynthTensor tensor) {
    tensor.typed = false;
    return tensor;
}

// --- metadata

inline constexpr SynthCount kStackCounts[] = {
    {"block_count", layers, always},         {"context_length", context, always},
    {"embedding_length", width, always},     {"feed_forward_length", ffn, always},
    {"attention.head_count", heads, always},
};
inline constexpr SynthCount kKvHeads[] = {{"attention.head_count_kv", kv_heads, always}};
inline constexpr SynthCount kVocabSize[] = {{"vocab_size", vocab, always}};
inline constexpr SynthCount kWholeHeadRotation[] = {{"rope.dimension_count", head_dim, always}};
// Written by architectures whose heads need not share the width evenly, always or when they do not.
inline constexpr SynthCount kHeadWidths[] = {{"attention.key_length", head_dim, always},
                                             {"attention.value_length", head_dim, always}};
inline constexpr SynthCount kUnevenHeadWidths[] = {{"attention.key_length", head_dim, own_head_dim},
                                                   {"attention.value_length", head_dim, own_head_dim}};
inline constexpr SynthCount kExpertCounts[] = {{"expert_count", experts, mixture},
                                               {"expert_used_count", used_experts, mixture}};
inline constexpr SynthCount kWindow[] = {{"attention.sliding_window", window, always}};
inline constexpr SynthCount kExpertWidth[] = {{"expert_feed_forward_length", expert_ffn, always}};

// --- tensors

inline constexpr SynthTensor kEmbedding[] = {once("token_embd.weight", {vocab, width}, SynthFill::matrix)};
inline constexpr SynthTensor kOutput[] = {once("output.weight", {vocab, width}, SynthFill::matrix)};

inline constexpr SynthTensor kAttentionNorm[] = {per_layer("attn_norm.weight", {width}, SynthFill::norm)};
inline constexpr SynthTensor kFfnNorm[] = {per_layer("ffn_norm.weight", {width}, SynthFill::norm)};
// Behind both halves of a layer.
inline constexpr SynthTensor kPostNorms[] = {
    per_layer("post_attention_norm.weight", {width}, SynthFill::norm),
    per_layer("post_ffw_norm.weight", {width}, SynthFill::norm)};
inline constexpr SynthTensor kOutputNorm[] = {once("output_norm.weight", {width}, SynthFill::norm)};
inline constexpr SynthTensor kNormBiases[] = {per_layer("attn_norm.bias", {width}, SynthFill::bias),
                                              per_layer("ffn_norm.bias", {width}, SynthFill::bias),
                                              once("output_norm.bias", {width}, SynthFill::bias)};

inline constexpr SynthTensor kSeparateProjections[] = {
    per_layer("attn_q.weight", {query, width}, SynthFill::matrix),
    per_layer("attn_k.weight", {key_value, width}, SynthFill::matrix),
    per_layer("attn_v.weight", {key_value, width}, SynthFill::matrix),
};
inline constexpr SynthTensor kProjectionBiases[] = {
    per_layer("attn_q.bias", {query}, SynthFill::bias),
    per_layer("attn_k.bias", {key_value}, SynthFill::bias),
    per_layer("attn_v.bias", {key_value}, SynthFill::bias),
};
inline constexpr SynthTensor kFusedProjection[] = {
    per_layer("attn_qkv.weight", {fused_qkv, width}, SynthFill::matrix)};
inline constexpr SynthTensor kFusedProjectionBias[] = {
    per_layer("attn_qkv.bias", {fused_qkv}, SynthFill::bias)};
inline constexpr SynthTensor kHeadNorms[] = {per_layer("attn_q_norm.weight", {head_dim}, SynthFill::norm),
                                             per_layer("attn_k_norm.weight", {head_dim}, SynthFill::norm)};
inline constexpr SynthTensor kAttentionOutput[] = {
    per_layer("attn_output.weight", {width, query}, SynthFill::matrix)};
inline constexpr SynthTensor kAttentionOutputBias[] = {
    per_layer("attn_output.bias", {width}, SynthFill::bias)};

inline constexpr SynthTensor kGatedFfn[] = {
    per_layer("ffn_gate.weight", {ffn, width}, SynthFill::matrix, dense),
    per_layer("ffn_up.weight", {ffn, width}, SynthFill::matrix, dense),
    per_layer("ffn_down.weight", {width, ffn}, SynthFill::matrix, dense),
};
inline constexpr SynthTensor kPlainFfn[] = {
    per_layer("ffn_up.weight", {ffn, width}, SynthFill::matrix),
    per_layer("ffn_down.weight", {width, ffn}, SynthFill::matrix),
};
inline constexpr SynthTensor kPlainFfnBiases[] = {
    per_layer("ffn_up.bias", {ffn}, SynthFill::bias),
    per_layer("ffn_down.bias", {width}, SynthFill::bias),
};
inline constexpr SynthTensor kRouter[] = {
    in_f32(per_layer("ffn_gate_inp.weight", {experts, width}, SynthFill::matrix, mixture))};
// As wide as a dense network, or of the width kExpertWidth says.
inline constexpr SynthTensor kWideExperts[] = {
    per_layer("ffn_gate_exps.weight", {experts, ffn, width}, SynthFill::matrix, mixture),
    per_layer("ffn_up_exps.weight", {experts, ffn, width}, SynthFill::matrix, mixture),
    per_layer("ffn_down_exps.weight", {experts, width, ffn}, SynthFill::matrix, mixture),
};
inline constexpr SynthTensor kOwnWidthExperts[] = {
    per_layer("ffn_gate_exps.weight", {experts, expert_ffn, width}, SynthFill::matrix),
    per_layer("ffn_up_exps.weight", {experts, expert_ffn, width}, SynthFill::matrix),
    per_layer("ffn_down_exps.weight", {experts, width, expert_ffn}, SynthFill::matrix),
};

}  // namespace plait::tools
