#include "plait/tools/synth_archs/list.h"
#include "plait/tools/synth_archs/parts.h"

namespace plait::tools {
namespace {

// Qwen 1.5 MoE and Qwen 2 57B: beside the chosen experts one that every token passes, weighed by a gate.

constexpr SynthCount kSharedExpertWidth[] = {{"expert_shared_feed_forward_length", ffn, always}};

constexpr SynthTensor kSharedExpert[] = {
    in_f32(per_layer("ffn_gate_inp_shexp.weight", {width}, SynthFill::matrix)),
    per_layer("ffn_gate_shexp.weight", {ffn, width}, SynthFill::matrix),
    per_layer("ffn_up_shexp.weight", {ffn, width}, SynthFill::matrix),
    per_layer("ffn_down_shexp.weight", {width, ffn}, SynthFill::matrix),
};

constexpr std::span<const SynthCount> kCounts[] = {kStackCounts, kKvHeads, kExpertCounts, kExpertWidth,
                                                   kSharedExpertWidth};

constexpr SynthConstant kConstants[] = {
    {"attention.layer_norm_rms_epsilon", 1e-6f},
    {"rope.freq_base", 1000000.0f},
};

constexpr std::span<const SynthTensor> kTensors[] = {
    kEmbedding,       kAttentionNorm,    kFfnNorm, kOutputNorm,      kSeparateProjections,
    kAttentionOutput, kProjectionBiases, kRouter,  kOwnWidthExperts, kSharedExpert,
    kOutput};

}  // namespace

constinit const SynthArch kSynthQwen2moe = {
    .name = "qwen2moe",
    .grouped_heads = true,
    .free_head_dim = false,
    .experts = SynthExperts::always,
    .counts = kCounts,
    .constants = kConstants,
    .tensors = kTensors,
};

}  // namespace plait::tools
