#include "plait/tools/synth_archs/list.h"
#include "plait/tools/synth_archs/parts.h"

namespace plait::tools {
namespace {

// Granite 3: Llama with four scales; the embedding serves as output too.

constexpr std::span<const SynthCount> kCounts[] = {kStackCounts, kKvHeads, kVocabSize, kWholeHeadRotation};

constexpr SynthConstant kConstants[] = {
    {"attention.layer_norm_rms_epsilon", 1e-5f},
    {"rope.freq_base", 10000.0f},
    {"embedding_scale", 12.0f},
    {"residual_scale", 0.22f},
    {"attention.scale", 0.11f},
    {"logit_scale", 8.0f},
};

constexpr std::span<const SynthTensor> kTensors[] = {
    kEmbedding, kAttentionNorm, kFfnNorm, kOutputNorm, kSeparateProjections, kAttentionOutput, kGatedFfn};

}  // namespace

constinit const SynthArch kSynthGranite = {
    .name = "granite",
    .grouped_heads = true,
    .free_head_dim = false,
    .experts = SynthExperts::never,
    .counts = kCounts,
    .constants = kConstants,
    .tensors = kTensors,
};

}  // namespace plait::tools
