#include "plait/models/decoder_form.h"
#include "plait/models/decoders.h"

namespace plait::models {

// Llama with no positions at all in every fourth layer (Yang et al. 2025, "Rope to Nope and back again").
// Files do not say which, as all published models have the same.
std::unique_ptr<Model> load_smollm3(const gguf::File& file, const ModelOptions& options) {
    static constexpr DecoderForm kForm{
        .rotary = RotaryForm{.pairs = ir::RopePairs::adjacent, .unrotated_period = 4},
    };
    return load_decoder(KeyReader(file, "smollm3"), kForm, options);
}

}  // namespace plait::models
