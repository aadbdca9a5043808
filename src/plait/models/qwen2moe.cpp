#include "plait/models/decoder_form.h"
#include "plait/models/decoders.h"

namespace plait::models {

// Many small experts, of which a token's choice keeps the weights that the softmax over all of them gave, and
// a larger one that every token passes, weighed by a gate of its own.
std::unique_ptr<Model> load_qwen2moe(const gguf::File& file, const ModelOptions& options) {
    static constexpr DecoderForm kForm{
        .rotary = RotaryForm{.pairs = ir::RopePairs::halves},
        .attention = {.projection_bias = Presence::required},
        .experts = {.presence = Presence::required, .own_width = true, .renormalise = false, .shared = true},
    };
    return load_decoder(KeyReader(file, "qwen2moe"), kForm, options);
}

}  // namespace plait::models
