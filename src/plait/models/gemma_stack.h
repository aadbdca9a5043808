#pragma once

#include <memory>
#include <optional>

#include "plait/ir/ops/rope.h"
#include "plait/models/blocks/attention.h"
#include "plait/models/hyperparameters.h"
#include "plait/models/model.h"

// What Gemma 2 and 3 have in common (Gemma Team 2024, 2025): embeddings scaled by the root of the width, a
// norm before and behind each half of a layer, a network gated by GELU, and local layers, which look at a
// window, between global ones. Their files hold norm weights with the one already added.
namespace plait::models {

struct GemmaParameters {
    StackSize size;
    int64_t vocabulary = 0;
    AttentionShape attention;
    float epsilon = 0;
    bool head_norms = false;                   // of queries and keys
    float attention_scale = 0;                 // of the scores
    float attention_cap = 0;                   // of the scores; 0: none
    float logit_cap = 0;                       // 0: none
    WindowPattern windows;                     // layers without one are global
    ir::RopeAngles rope;                       // of global layers
    std::optional<ir::RopeAngles> local_rope;  // of local ones where theirs differs
};

// The parameters that both read alike; no window anywhere. Scores are scaled by 1 / sqrt(key width), except
// in the 27B model of either generation, which divides the width by the heads instead: files say so only by
// their number of layers.
GemmaParameters read_gemma(const KeyReader& keys, int64_t layers_of_27b);

// Declares the weights and makes the model.
std::unique_ptr<Model> make_gemma(const KeyReader& keys, GemmaParameters parameters,
                                  const ModelOptions& options);

}  // namespace plait::models
