#include "plait/tools/synth_archs/list.h"
#include "plait/tools/synth_archs/parts.h"

namespace plait::tools {
namespace {

// Phi 3 and 4 with long context: fused projections, and two sets of frequency divisors to choose from.

// Contexts relate as in Phi 3 mini 128k: made 32 times as long, in a window that is never reached.
constexpr int64_t original_context(const SynthSize& size) { return std::max<int64_t>(1, size.ctx / 32); }
constexpr int64_t window(const SynthSize& size) { return 2 * size.ctx; }
constexpr int64_t rotated_pairs(const SynthSize& size) { return size.head_dim / 2; }

constexpr SynthCount kContexts[] = {{"attention.sliding_window", window, always},
                                    {"rope.scaling.original_context_length", original_context, always}};

constexpr SynthTensor kFusedGatedFfn[] = {per_layer("ffn_up.weight", {fused_ffn, width}, SynthFill::matrix),
                                          per_layer("ffn_down.weight", {width, ffn}, SynthFill::matrix)};
constexpr SynthTensor kRopeFactors[] = {
    once("rope_factors_short.weight", {rotated_pairs}, SynthFill::divisor),
    once("rope_factors_long.weight", {rotated_pairs}, SynthFill::divisor)};

constexpr std::span<const SynthCount> kCounts[] = {kStackCounts, kKvHeads, kWholeHeadRotation, kContexts};

constexpr SynthConstant kConstants[] = {
    {"attention.layer_norm_rms_epsilon", 1e-5f},
    {"rope.freq_base", 10000.0f},
    {"rope.scaling.attn_factor", 1.19023808f},
};

constexpr std::span<const SynthTensor> kTensors[] = {kEmbedding,     kAttentionNorm,   kFfnNorm,
                                                     kOutputNorm,    kFusedProjection, kAttentionOutput,
                                                     kFusedGatedFfn, kRopeFactors,     kOutput};

}  // namespace

constinit const SynthArch kSynthPhi3 = {
    .name = "phi3",
    .grouped_heads = true,
    .free_head_dim = false,
    .experts = SynthExperts::never,
    .counts = kCounts,
    .constants = kConstants,
    .tensors = kTensors,
};

}  // namespace plait::tools
