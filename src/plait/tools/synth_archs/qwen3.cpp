#include "plait/tools/synth_archs/list.h"
#include "plait/tools/synth_archs/parts.h"

namespace plait::tools {
namespace {

// Qwen 3: norms of every query and key head, whose width is its own; small ones tie the embedding.

constexpr std::span<const SynthCount> kCounts[] = {kStackCounts, kKvHeads, kHeadWidths};

constexpr SynthConstant kConstants[] = {
    {"attention.layer_norm_rms_epsilon", 1e-6f},
    {"rope.freq_base", 1000000.0f},
};

constexpr std::span<const SynthTensor> kTensors[] = {
    kEmbedding,           kAttentionNorm,   kFfnNorm,   kOutputNorm,
    kSeparateProjections, kAttentionOutput, kHeadNorms, kGatedFfn};

}  // namespace

constinit const SynthArch kSynthQwen3 = {
    .name = "qwen3",
    .grouped_heads = true,
    .free_head_dim = true,
    .experts = SynthExperts::never,
    .counts = kCounts,
    .constants = kConstants,
    .tensors = kTensors,
};

}  // namespace plait::tools
