#include "plait/models/decoder_form.h"
#include "plait/models/decoders.h"

namespace plait::models {

// RMS norms in front, rotary positions, a gated feed-forward network or experts. Biases are those the file
// has: models of other names are published as llama too. Query and key rows are permuted so that rotated
// pairs are adjacent.
std::unique_ptr<Model> load_llama(const gguf::File& file, const ModelOptions& options) {
    static constexpr DecoderForm kForm{
        .rotary = RotaryForm{.pairs = ir::RopePairs::adjacent, .divisors = RopeDivisors::optional},
        .attention = {.projection_bias = Presence::optional, .output_bias = Presence::optional},
        .ffn = {.bias = Presence::optional},
        .experts = {.presence = Presence::optional},
    };
    return load_decoder(KeyReader(file, "llama"), kForm, options);
}

}  // namespace plait::models
