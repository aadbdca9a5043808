#include "plait/tools/synth_archs/list.h"
#include "plait/tools/synth_archs/parts.h"

namespace plait::tools {
namespace {

// gpt-oss: nothing but experts, biases throughout, a sink per head, every other layer looks at a window.

constexpr int64_t original_context(const SynthSize&) { return 4096; }
constexpr SynthCount kYarn[] = {{"rope.scaling.original_context_length", original_context, always}};

constexpr SynthTensor kSinks[] = {per_layer("attn_sinks.weight", {heads}, SynthFill::bias)};
// In the place of ffn_norm.
constexpr SynthTensor kInnerNorm[] = {per_layer("post_attention_norm.weight", {width}, SynthFill::norm)};
constexpr SynthTensor kExpertBiases[] = {
    per_layer("ffn_gate_inp.bias", {experts}, SynthFill::bias),
    per_layer("ffn_gate_exps.bias", {experts, expert_ffn}, SynthFill::bias),
    per_layer("ffn_up_exps.bias", {experts, expert_ffn}, SynthFill::bias),
    per_layer("ffn_down_exps.bias", {experts, width}, SynthFill::bias),
};

constexpr std::span<const SynthCount> kCounts[] = {kStackCounts, kKvHeads, kHeadWidths, kExpertCounts,
                                                   kExpertWidth, kWindow,  kYarn};

constexpr SynthConstant kConstants[] = {
    {"attention.layer_norm_rms_epsilon", 1e-5f},
    {"rope.freq_base", 150000.0f},
    {"rope.scaling.type", std::string_view("yarn")},
    {"rope.scaling.factor", 32.0f},
};

constexpr std::span<const SynthTensor> kTensors[] = {
    kEmbedding, kAttentionNorm,   kSeparateProjections, kProjectionBiases,
    kSinks,     kAttentionOutput, kAttentionOutputBias, kInnerNorm,
    kRouter,    kOwnWidthExperts, kExpertBiases,        kOutputNorm,
    kOutput};

}  // namespace

constinit const SynthArch kSynthGptOss = {
    .name = "gpt-oss",
    .grouped_heads = true,
    .free_head_dim = true,
    .experts = SynthExperts::always,
    .window = 128,
    .counts = kCounts,
    .constants = kConstants,
    .tensors = kTensors,
};

}  // namespace plait::tools
