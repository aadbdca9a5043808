#include "plait/models/decoder_form.h"
#include "plait/models/decoders.h"

namespace plait::models {

// Layer norms in front, learned positions, a plain feed-forward network, biases everywhere.
std::unique_ptr<Model> load_gpt2(const gguf::File& file, const ModelOptions& options) {
    static constexpr DecoderForm kForm{
        .norm = {.kind = NormKind::layer, .bias = Presence::required},
        .learned_positions = Presence::required,
        .attention = {.fused_projection = true,
                      .projection_bias = Presence::required,
                      .output_bias = Presence::required},
        .ffn = {.kind = FfnKind::plain, .activation = ir::Activation::gelu_tanh, .bias = Presence::required},
    };
    return load_decoder(KeyReader(file, "gpt2"), kForm, options);
}

}  // namespace plait::models
