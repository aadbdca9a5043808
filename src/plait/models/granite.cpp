#include "plait/models/decoder_form.h"
#include "plait/models/decoders.h"

namespace plait::models {

// Llama with four scales of its own, chosen so that one learning rate fits all sizes (Yang et al. 2022).
std::unique_ptr<Model> load_granite(const gguf::File& file, const ModelOptions& options) {
    static constexpr DecoderForm kForm{
        .rotary = RotaryForm{.pairs = ir::RopePairs::adjacent},
        .attention = {.projection_bias = Presence::optional, .output_bias = Presence::optional},
        .ffn = {.bias = Presence::optional},
        .scales = {.embedding = true,
                   .attention = true,
                   .residual = true,
                   .logits = ScaleForm::Logits::divided},
    };
    return load_decoder(KeyReader(file, "granite"), kForm, options);
}

}  // namespace plait::models
