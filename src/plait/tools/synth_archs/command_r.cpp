#include "plait/tools/synth_archs/list.h"
#include "plait/tools/synth_archs/parts.h"

namespace plait::tools {
namespace {

// Command R+: one norm in front of attention and feed-forward network side by side, norms of its own for
// every head, scaled logits; the embedding serves as output too.

constexpr SynthTensor kNormOfEachHead[] = {
    in_f32(per_layer("attn_q_norm.weight", {heads, head_dim}, SynthFill::norm)),
    in_f32(per_layer("attn_k_norm.weight", {kv_heads, head_dim}, SynthFill::norm)),
};

constexpr std::span<const SynthCount> kCounts[] = {kStackCounts, kKvHeads};

constexpr SynthConstant kConstants[] = {
    {"attention.layer_norm_epsilon", 1e-5f},
    {"rope.freq_base", 75000000.0f},
    {"rope.scaling.type", std::string_view("none")},
    {"logit_scale", 0.0625f},
};

constexpr std::span<const SynthTensor> kTensors[] = {
    kEmbedding,       kAttentionNorm,  kOutputNorm, kSeparateProjections,
    kAttentionOutput, kNormOfEachHead, kGatedFfn};

}  // namespace

constinit const SynthArch kSynthCommandR = {
    .name = "command-r",
    .grouped_heads = true,
    .free_head_dim = false,
    .experts = SynthExperts::never,
    .counts = kCounts,
    .constants = kConstants,
    .tensors = kTensors,
};

}  // namespace plait::tools
