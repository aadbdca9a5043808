#include "plait/tools/synth_arch.h"

#include <fmt/format.h>

#include <string>

#include "plait/base/error.h"
#include "plait/base/quote.h"

namespace plait::tools {
namespace {

bool always(const SynthSize&) { return true; }
bool dense(const SynthSize& size) { return size.experts == 0; }
bool mixture(const SynthSize& size) { return size.experts > 0; }
bool own_head_dim(const SynthSize& size) { return size.head_dim * size.heads != size.width; }

using D = SynthDim;
using F = SynthFill;
constexpr bool kPerLayer = true;
constexpr bool kOnce = false;
constexpr bool kTyped = true;
constexpr bool kF32 = false;

// --- llama: Llama 1 to 3 and Mistral; with experts, Mixtral

constexpr SynthCount kLlamaCounts[] = {
    {"vocab_size", &SynthSize::vocab, always},
    {"block_count", &SynthSize::layers, always},
    {"context_length", &SynthSize::ctx, always},
    {"embedding_length", &SynthSize::width, always},
    {"feed_forward_length", &SynthSize::ffn, always},
    {"attention.head_count", &SynthSize::heads, always},
    {"attention.head_count_kv", &SynthSize::kv_heads, always},
    {"rope.dimension_count", &SynthSize::head_dim, always},
    {"attention.key_length", &SynthSize::head_dim, own_head_dim},
    {"attention.value_length", &SynthSize::head_dim, own_head_dim},
    {"expert_count", &SynthSize::experts, mixture},
    {"expert_used_count", &SynthSize::used, mixture},
};

constexpr SynthNumber kLlamaNumbers[] = {
    {"attention.layer_norm_rms_epsilon", 1e-5f},
    {"rope.freq_base", 500000.0f},
};

constexpr SynthTensor kLlamaTensors[] = {
    {"token_embd.weight", kOnce, {D::none, D::vocab, D::width}, F::matrix, kTyped, always},
    {"attn_norm.weight", kPerLayer, {D::none, D::none, D::width}, F::norm, kF32, always},
    {"attn_q.weight", kPerLayer, {D::none, D::query, D::width}, F::matrix, kTyped, always},
    {"attn_k.weight", kPerLayer, {D::none, D::key_value, D::width}, F::matrix, kTyped, always},
    {"attn_v.weight", kPerLayer, {D::none, D::key_value, D::width}, F::matrix, kTyped, always},
    {"attn_output.weight", kPerLayer, {D::none, D::width, D::query}, F::matrix, kTyped, always},
    {"ffn_norm.weight", kPerLayer, {D::none, D::none, D::width}, F::norm, kF32, always},
    {"ffn_gate.weight", kPerLayer, {D::none, D::ffn, D::width}, F::matrix, kTyped, dense},
    {"ffn_up.weight", kPerLayer, {D::none, D::ffn, D::width}, F::matrix, kTyped, dense},
    {"ffn_down.weight", kPerLayer, {D::none, D::width, D::ffn}, F::matrix, kTyped, dense},
    {"ffn_gate_inp.weight", kPerLayer, {D::none, D::experts, D::width}, F::matrix, kF32, mixture},
    {"ffn_gate_exps.weight", kPerLayer, {D::experts, D::ffn, D::width}, F::matrix, kTyped, mixture},
    {"ffn_up_exps.weight", kPerLayer, {D::experts, D::ffn, D::width}, F::matrix, kTyped, mixture},
    {"ffn_down_exps.weight", kPerLayer, {D::experts, D::width, D::ffn}, F::matrix, kTyped, mixture},
    {"output_norm.weight", kOnce, {D::none, D::none, D::width}, F::norm, kF32, always},
    {"output.weight", kOnce, {D::none, D::vocab, D::width}, F::matrix, kTyped, always},
};

// --- gpt2: one projection for queries, keys and values; the embedding serves as output too

constexpr SynthCount kGpt2Counts[] = {
    {"block_count", &SynthSize::layers, always},         {"context_length", &SynthSize::ctx, always},
    {"embedding_length", &SynthSize::width, always},     {"feed_forward_length", &SynthSize::ffn, always},
    {"attention.head_count", &SynthSize::heads, always},
};

constexpr SynthNumber kGpt2Numbers[] = {{"attention.layer_norm_epsilon", 1e-5f}};

constexpr SynthTensor kGpt2Tensors[] = {
    {"token_embd.weight", kOnce, {D::none, D::vocab, D::width}, F::matrix, kTyped, always},
    {"position_embd.weight", kOnce, {D::none, D::context, D::width}, F::matrix, kF32, always},
    {"attn_norm.weight", kPerLayer, {D::none, D::none, D::width}, F::norm, kF32, always},
    {"attn_norm.bias", kPerLayer, {D::none, D::none, D::width}, F::bias, kF32, always},
    {"attn_qkv.weight", kPerLayer, {D::none, D::fused_qkv, D::width}, F::matrix, kTyped, always},
    {"attn_qkv.bias", kPerLayer, {D::none, D::none, D::fused_qkv}, F::bias, kF32, always},
    {"attn_output.weight", kPerLayer, {D::none, D::width, D::query}, F::matrix, kTyped, always},
    {"attn_output.bias", kPerLayer, {D::none, D::none, D::width}, F::bias, kF32, always},
    {"ffn_norm.weight", kPerLayer, {D::none, D::none, D::width}, F::norm, kF32, always},
    {"ffn_norm.bias", kPerLayer, {D::none, D::none, D::width}, F::bias, kF32, always},
    {"ffn_up.weight", kPerLayer, {D::none, D::ffn, D::width}, F::matrix, kTyped, always},
    {"ffn_up.bias", kPerLayer, {D::none, D::none, D::ffn}, F::bias, kF32, always},
    {"ffn_down.weight", kPerLayer, {D::none, D::width, D::ffn}, F::matrix, kTyped, always},
    {"ffn_down.bias", kPerLayer, {D::none, D::none, D::width}, F::bias, kF32, always},
    {"output_norm.weight", kOnce, {D::none, D::none, D::width}, F::norm, kF32, always},
    {"output_norm.bias", kOnce, {D::none, D::none, D::width}, F::bias, kF32, always},
};

constexpr SynthArch kArchs[] = {
    {.name = "llama",
     .grouped_heads = true,
     .free_head_dim = true,
     .mixture = true,
     .counts = kLlamaCounts,
     .numbers = kLlamaNumbers,
     .tensors = kLlamaTensors},
    {.name = "gpt2",
     .grouped_heads = false,
     .free_head_dim = false,
     .mixture = false,
     .counts = kGpt2Counts,
     .numbers = kGpt2Numbers,
     .tensors = kGpt2Tensors},
};

}  // namespace

const SynthArch& find_synth_arch(std::string_view name) {
    std::string known;
    for (const SynthArch& arch : kArchs) {
        if (arch.name == name) return arch;
        known += fmt::format("{}{}", known.empty() ? "" : ", ", arch.name);
    }
    throw Error(fmt::format("synth cannot make the architecture {}; expected one of {}", quote(name), known));
}

int64_t synth_extent(SynthDim dim, const SynthSize& size) {
    switch (dim) {
        case SynthDim::none:
            return 1;
        case SynthDim::width:
            return size.width;
        case SynthDim::query:
            return size.heads * size.head_dim;
        case SynthDim::key_value:
            return size.kv_heads * size.head_dim;
        case SynthDim::fused_qkv:
            return (size.heads + 2 * size.kv_heads) * size.head_dim;
        case SynthDim::ffn:
            return size.ffn;
        case SynthDim::vocab:
            return size.vocab;
        case SynthDim::context:
            return size.ctx;
        case SynthDim::experts:
            return size.experts;
    }
    return 1;
}

}  // namespace plait::tools
