#include "plait/tools/synth_archs/list.h"
#include "plait/tools/synth_archs/parts.h"

namespace plait::tools {
namespace {

// Qwen 3 with experts.

constexpr std::span<const SynthCount> kCounts[] = {kStackCounts, kKvHeads, kHeadWidths, kExpertCounts,
                                                   kExpertWidth};

constexpr SynthConstant kConstants[] = {
    {"attention.layer_norm_rms_epsilon", 1e-6f},
    {"rope.freq_base", 1000000.0f},
};

constexpr std::span<const SynthTensor> kTensors[] = {
    kEmbedding,       kAttentionNorm, kFfnNorm, kOutputNorm,      kSeparateProjections,
    kAttentionOutput, kHeadNorms,     kRouter,  kOwnWidthExperts, kOutput};

}  // namespace

constinit const SynthArch kSynthQwen3moe = {
    .name = "qwen3moe",
    .grouped_heads = true,
    .free_head_dim = true,
    .experts = SynthExperts::always,
    .counts = kCounts,
    .constants = kConstants,
    .tensors = kTensors,
};

}  // namespace plait::tools
