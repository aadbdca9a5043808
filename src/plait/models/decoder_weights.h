#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "plait/models/blocks/attention.h"
#include "plait/models/blocks/ffn.h"
#include "plait/models/blocks/moe.h"
#include "plait/models/blocks/norm.h"
#include "plait/models/blocks/vocabulary.h"
#include "plait/models/decoder_form.h"
#include "plait/models/decoder_parameters.h"

namespace plait::models {

using Projections = std::variant<SeparateProjections, FusedProjection>;
using Ffn = std::variant<GatedFfn, FusedGatedFfn, PlainFfn, MoeFfn>;

struct DecoderLayer {
    Norm attention_norm;
    Projections projections;
    std::optional<HeadNorms> query_key_norms;
    Linear attention_output;
    std::optional<Norm> ffn_norm;  // none: the network reads what attention reads
    Ffn ffn;
};

// Tensors as every GGUF file names them.
struct DecoderWeights {
    Vocabulary vocabulary;
    std::optional<WeightIndex> positions;      // F32 [context, width]
    std::optional<WeightIndex> rope_divisors;  // F32 [pairs]
    std::vector<DecoderLayer> layers;
    Norm output_norm;
};

// Throws Error naming tensor, expected and found.
DecoderWeights declare_decoder_weights(WeightTable& table, const DecoderForm& form,
                                       const DecoderParameters& parameters);

}  // namespace plait::models
