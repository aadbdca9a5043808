#include "plait/models/decoder_form.h"
#include "plait/models/decoders.h"

namespace plait::models {

// GPT-2's norms, biases and feed-forward network with grouped heads and rotary positions.
std::unique_ptr<Model> load_starcoder2(const gguf::File& file, const ModelOptions& options) {
    static constexpr DecoderForm kForm{
        .norm = {.kind = NormKind::layer, .bias = Presence::required},
        .rotary = RotaryForm{.pairs = ir::RopePairs::halves},
        .attention = {.projection_bias = Presence::required, .output_bias = Presence::required},
        .ffn = {.kind = FfnKind::plain, .activation = ir::Activation::gelu_tanh, .bias = Presence::required},
    };
    return load_decoder(KeyReader(file, "starcoder2"), kForm, options);
}

}  // namespace plait::models
