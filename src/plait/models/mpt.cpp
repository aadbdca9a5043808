#include "plait/models/decoder_form.h"
#include "plait/models/decoders.h"

namespace plait::models {

// Positions by linear biases on the scores, or learned ones where the file has a table. Published models have
// no biases in norms and matrices.
std::unique_ptr<Model> load_mpt(const gguf::File& file, const ModelOptions& options) {
    static constexpr DecoderForm kForm{
        .norm = {.kind = NormKind::layer, .bias = Presence::optional},
        .learned_positions = Presence::optional,
        .attention = {.fused_projection = true,
                      .projection_bias = Presence::optional,
                      .output_bias = Presence::optional,
                      .clamp = true,
                      .linear_biases = true},
        .ffn = {.kind = FfnKind::plain, .activation = ir::Activation::gelu_erf, .bias = Presence::optional},
    };
    return load_decoder(KeyReader(file, "mpt"), kForm, options);
}

}  // namespace plait::models
