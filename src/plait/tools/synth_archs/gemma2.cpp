#include "plait/tools/synth_archs/list.h"
#include "plait/tools/synth_archs/parts.h"

namespace plait::tools {
namespace {

// Gemma 2: every other layer looks at a window, scores and logits are capped, the embedding serves as output
// too.

constexpr std::span<const SynthCount> kCounts[] = {kStackCounts, kKvHeads, kHeadWidths, kWindow};

constexpr SynthConstant kConstants[] = {
    {"attention.layer_norm_rms_epsilon", 1e-6f},
    {"attn_logit_softcapping", 50.0f},
    {"final_logit_softcapping", 30.0f},
};

constexpr std::span<const SynthTensor> kTensors[] = {kEmbedding,       kAttentionNorm, kSeparateProjections,
                                                     kAttentionOutput, kFfnNorm,       kGatedFfn,
                                                     kPostNorms,       kOutputNorm};

}  // namespace

constinit const SynthArch kSynthGemma2 = {
    .name = "gemma2",
    .grouped_heads = true,
    .free_head_dim = true,
    .experts = SynthExperts::never,
    .window = 4096,
    .counts = kCounts,
    .constants = kConstants,
    .tensors = kTensors,
};

}  // namespace plait::tools
