#include "plait/tools/synth_archs/list.h"
#include "plait/tools/synth_archs/parts.h"

namespace plait::tools {
namespace {

// GPT-NeoX and Pythia: attention and feed-forward network side by side, a quarter of every head rotated.

constexpr int64_t rotated(const SynthSize& size) { return std::max<int64_t>(2, size.head_dim / 8 * 2); }
constexpr SynthCount kRotation[] = {{"rope.dimension_count", rotated, always}};

constexpr std::span<const SynthCount> kCounts[] = {kStackCounts, kRotation};

constexpr SynthConstant kConstants[] = {
    {"attention.layer_norm_epsilon", 1e-5f},
    {"use_parallel_residual", true},
};

constexpr std::span<const SynthTensor> kTensors[] = {
    kEmbedding,           kAttentionNorm,   kFfnNorm,         kOutputNorm,
    kNormBiases,          kFusedProjection, kAttentionOutput, kFusedProjectionBias,
    kAttentionOutputBias, kPlainFfn,        kPlainFfnBiases,  kOutput};

}  // namespace

constinit const SynthArch kSynthGptNeox = {
    .name = "gptneox",
    .grouped_heads = false,
    .free_head_dim = false,
    .experts = SynthExperts::never,
    .counts = kCounts,
    .constants = kConstants,
    .tensors = kTensors,
};

}  // namespace plait::tools
