#include "plait/tools/synth_archs/list.h"
#include "plait/tools/synth_archs/parts.h"

namespace plait::tools {
namespace {

// SmolLM3: Llama without rotation in every fourth layer; the embedding serves as output too.

constexpr std::span<const SynthCount> kCounts[] = {kStackCounts, kKvHeads, kVocabSize, kWholeHeadRotation};

constexpr SynthConstant kConstants[] = {
    {"attention.layer_norm_rms_epsilon", 1e-6f},
    {"rope.freq_base", 5000000.0f},
};

constexpr std::span<const SynthTensor> kTensors[] = {
    kEmbedding, kAttentionNorm, kFfnNorm, kOutputNorm, kSeparateProjections, kAttentionOutput, kGatedFfn};

}  // namespace

constinit const SynthArch kSynthSmollm3 = {
    .name = "smollm3",
    .grouped_heads = true,
    .free_head_dim = false,
    .experts = SynthExperts::never,
    .counts = kCounts,
    .constants = kConstants,
    .tensors = kTensors,
};

}  // namespace plait::tools
