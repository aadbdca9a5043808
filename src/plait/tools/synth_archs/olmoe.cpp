#include "plait/tools/synth_archs/list.h"
#include "plait/tools/synth_archs/parts.h"

namespace plait::tools {
namespace {

// OLMoE: one norm over all query heads, one over all key heads.

constexpr SynthTensor kWholeNorms[] = {per_layer("attn_q_norm.weight", {query}, SynthFill::norm),
                                       per_layer("attn_k_norm.weight", {key_value}, SynthFill::norm)};

constexpr std::span<const SynthCount> kCounts[] = {kStackCounts, kKvHeads, kExpertCounts};

constexpr SynthConstant kConstants[] = {
    {"attention.layer_norm_rms_epsilon", 1e-5f},
    {"rope.freq_base", 10000.0f},
};

constexpr std::span<const SynthTensor> kTensors[] = {
    kEmbedding,       kAttentionNorm, kFfnNorm, kOutputNorm,  kSeparateProjections,
    kAttentionOutput, kWholeNorms,    kRouter,  kWideExperts, kOutput};

}  // namespace

constinit const SynthArch kSynthOlmoe = {
    .name = "olmoe",
    .grouped_heads = true,
    .free_head_dim = false,
    .experts = SynthExperts::always,
    .counts = kCounts,
    .constants = kConstants,
    .tensors = kTensors,
};

}  // namespace plait::tools
