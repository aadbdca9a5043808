#include "plait/tools/synth_archs/list.h"
#include "plait/tools/synth_archs/parts.h"

namespace plait::tools {
namespace {

// StarCoder 2: biases everywhere; the embedding serves as output too.

constexpr std::span<const SynthCount> kCounts[] = {kStackCounts, kKvHeads};

constexpr SynthConstant kConstants[] = {
    {"attention.layer_norm_epsilon", 1e-5f},
    {"rope.freq_base", 999999.44f},
};

constexpr std::span<const SynthTensor> kTensors[] = {
    kEmbedding,           kAttentionNorm,   kFfnNorm,          kOutputNorm,          kNormBiases,
    kSeparateProjections, kAttentionOutput, kProjectionBiases, kAttentionOutputBias, kPlainFfn,
    kPlainFfnBiases};

}  // namespace

constinit const SynthArch kSynthStarcoder2 = {
    .name = "starcoder2",
    .grouped_heads = true,
    .free_head_dim = false,
    .experts = SynthExperts::never,
    .counts = kCounts,
    .constants = kConstants,
    .tensors = kTensors,
};

}  // namespace plait::tools
