#include "plait/tools/synth_archs/list.h"
#include "plait/tools/synth_archs/parts.h"

namespace plait::tools {
namespace {

// Qwen 1.5 to 2.5: biases on queries, keys and values.

constexpr std::span<const SynthCount> kCounts[] = {kStackCounts, kKvHeads};

constexpr SynthConstant kConstants[] = {
    {"attention.layer_norm_rms_epsilon", 1e-6f},
    {"rope.freq_base", 1000000.0f},
};

constexpr std::span<const SynthTensor> kTensors[] = {
    kEmbedding,       kAttentionNorm,    kFfnNorm,  kOutputNorm, kSeparateProjections,
    kAttentionOutput, kProjectionBiases, kGatedFfn, kOutput};

}  // namespace

constinit const SynthArch kSynthQwen2 = {
    .name = "qwen2",
    .grouped_heads = true,
    .free_head_dim = false,
    .experts = SynthExperts::never,
    .counts = kCounts,
    .constants = kConstants,
    .tensors = kTensors,
};

}  // namespace plait::tools
