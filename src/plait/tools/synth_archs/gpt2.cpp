#include "plait/tools/synth_archs/list.h"
#include "plait/tools/synth_archs/parts.h"

namespace plait::tools {
namespace {

// One projection for queries, keys and values; the embedding serves as output too.

constexpr SynthTensor kPositions[] = {
    in_f32(once("position_embd.weight", {context, width}, SynthFill::matrix))};

constexpr std::span<const SynthCount> kCounts[] = {kStackCounts};

constexpr SynthConstant kConstants[] = {
    {"attention.layer_norm_epsilon", 1e-5f},
};

constexpr std::span<const SynthTensor> kTensors[] = {
    kEmbedding,           kPositions,           kAttentionNorm,   kFfnNorm,
    kOutputNorm,          kNormBiases,          kFusedProjection, kAttentionOutput,
    kFusedProjectionBias, kAttentionOutputBias, kPlainFfn,        kPlainFfnBiases};

}  // namespace

constinit const SynthArch kSynthGpt2 = {
    .name = "gpt2",
    .grouped_heads = false,
    .free_head_dim = false,
    .experts = SynthExperts::never,
    .counts = kCounts,
    .constants = kConstants,
    .tensors = kTensors,
};

}  // namespace plait::tools
