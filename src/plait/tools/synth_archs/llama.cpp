#include "plait/tools/synth_archs/list.h"
#include "plait/tools/synth_archs/parts.h"

namespace plait::tools {
namespace {

// Llama 1 to 3 and Mistral; with experts, Mixtral.

constexpr std::span<const SynthCount> kCounts[] = {kStackCounts,       kKvHeads,          kVocabSize,
                                                   kWholeHeadRotation, kUnevenHeadWidths, kExpertCounts};

constexpr SynthConstant kConstants[] = {
    {"attention.layer_norm_rms_epsilon", 1e-5f},
    {"rope.freq_base", 500000.0f},
};

constexpr std::span<const SynthTensor> kTensors[] = {
    kEmbedding,       kAttentionNorm, kFfnNorm, kOutputNorm,  kSeparateProjections,
    kAttentionOutput, kGatedFfn,      kRouter,  kWideExperts, kOutput};

}  // namespace

constinit const SynthArch kSynthLlama = {
    .name = "llama",
    .grouped_heads = true,
    .free_head_dim = true,
    .experts = SynthExperts::optional,
    .counts = kCounts,
    .constants = kConstants,
    .tensors = kTensors,
};

}  // namespace plait::tools
