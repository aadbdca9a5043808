#include "plait/tools/synth_archs/list.h"
#include "plait/tools/synth_archs/parts.h"

namespace plait::tools {
namespace {

// Gemma 3: five of six layers look at a window, queries and keys are normed, the embedding serves as output
// too.

constexpr std::span<const SynthCount> kCounts[] = {kStackCounts, kKvHeads, kHeadWidths, kWindow};

constexpr SynthConstant kConstants[] = {
    {"attention.layer_norm_rms_epsilon", 1e-6f},
    {"rope.freq_base", 1000000.0f},
    {"rope.scaling.type", std::string_view("linear")},
    {"rope.scaling.factor", 8.0f},
};

constexpr std::span<const SynthTensor> kTensors[] = {kEmbedding, kAttentionNorm,   kSeparateProjections,
                                                     kHeadNorms, kAttentionOutput, kFfnNorm,
                                                     kGatedFfn,  kPostNorms,       kOutputNorm};

}  // namespace

constinit const SynthArch kSynthGemma3 = {
    .name = "gemma3",
    .grouped_heads = true,
    .free_head_dim = true,
    .experts = SynthExperts::never,
    .window = 1024,
    .counts = kCounts,
    .constants = kConstants,
    .tensors = kTensors,
};

}  // namespace plait::tools
