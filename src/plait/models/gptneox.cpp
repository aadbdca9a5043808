#include "plait/models/decoder_form.h"
#include "plait/models/decoders.h"

namespace plait::models {

// GPT-2's parts with both halves of a layer side by side and a part of every head rotated. Files hold the
// fused projection as [Q | K | V], not head by head as published. The activation is GELU itself; only
// GPT-NeoX 20B was trained with its approximation, which files do not say.
std::unique_ptr<Model> load_gptneox(const gguf::File& file, const ModelOptions& options) {
    static constexpr DecoderForm kForm{
        .norm = {.kind = NormKind::layer, .bias = Presence::required},
        .rotary = RotaryForm{.pairs = ir::RopePairs::halves},
        .attention = {.fused_projection = true,
                      .projection_bias = Presence::required,
                      .output_bias = Presence::required},
        .ffn = {.kind = FfnKind::plain, .activation = ir::Activation::gelu_erf, .bias = Presence::required},
        .residual = Residual::parallel_if_so,
    };
    return load_decoder(KeyReader(file, "gptneox"), kForm, options);
}

}  // namespace plait::models
