#include "plait/tools/synth_archs/list.h"
#include "plait/tools/synth_archs/parts.h"

namespace plait::tools {
namespace {

// MPT: positions by linear biases, projections clamped, no biases; the embedding serves as output too.

constexpr std::span<const SynthCount> kCounts[] = {kStackCounts};

constexpr SynthConstant kConstants[] = {
    {"attention.layer_norm_epsilon", 1e-5f},
    {"attention.clamp_kqv", 1.5f},
    {"attention.max_alibi_bias", 8.0f},
};

constexpr std::span<const SynthTensor> kTensors[] = {
    kEmbedding, kAttentionNorm, kFfnNorm, kOutputNorm, kFusedProjection, kAttentionOutput, kPlainFfn};

}  // namespace

constinit const SynthArch kSynthMpt = {
    .name = "mpt",
    .grouped_heads = false,
    .free_head_dim = false,
    .experts = SynthExperts::never,
    .counts = kCounts,
    .constants = kConstants,
    .tensors = kTensors,
};

}  // namespace plait::tools
