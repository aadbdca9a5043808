#pragma once

#include <optional>

#include "plait/ir/ops/rope.h"
#include "plait/models/decoder_form.h"
#include "plait/models/hyperparameters.h"

namespace plait::models {

struct ExpertSizes {
    ExpertCounts counts;
    int64_t inner_width = 0;   // of each
    int64_t shared_width = 0;  // of the one that every token passes; 0: there is none
};

// The numbers of one decoder-only model.
struct DecoderParameters {
    StackSize size;
    int64_t vocabulary = 0;
    AttentionShape attention;
    float epsilon = 0;
    std::optional<ir::RopeAngles> rope;
    bool long_context = false;  // beyond what the model was trained on before it was made longer
    int64_t window = 0;         // of attention; 0: the whole sequence
    float clamp = 0;            // of projections; 0: none
    float max_alibi_bias = 0;   // 0: none
    std::optional<ExpertSizes> experts;
    bool parallel = false;  // both halves of a layer side by side
    float embedding_scale = 1;
    std::optional<float> attention_scale;  // none: 1 / sqrt(width of a head)
    float residual_scale = 1;
    float logit_scale = 1;
};

// Throws Error naming key, expected and found.
DecoderParameters read_decoder_parameters(const KeyReader& keys, const DecoderForm& form,
                                          const ModelOptions& options);

}  // namespace plait::models
