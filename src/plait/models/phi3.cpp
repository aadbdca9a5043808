#include "plait/models/decoder_form.h"
#include "plait/models/decoders.h"

namespace plait::models {

// Llama with fused matrices, and for long contexts frequency divisors for each pair of features, of which a
// short and a long context have their own.
std::unique_ptr<Model> load_phi3(const gguf::File& file, const ModelOptions& options) {
    static constexpr DecoderForm kForm{
        .rotary = RotaryForm{.pairs = ir::RopePairs::halves, .divisors = RopeDivisors::by_context},
        .attention = {.fused_projection = true, .window = true},
        .ffn = {.kind = FfnKind::fused_gated},
    };
    return load_decoder(KeyReader(file, "phi3"), kForm, options);
}

}  // namespace plait::models
