#include "plait/models/decoder_form.h"
#include "plait/models/decoders.h"

namespace plait::models {

// Llama with biases on queries, keys and values.
std::unique_ptr<Model> load_qwen2(const gguf::File& file, const ModelOptions& options) {
    static constexpr DecoderForm kForm{
        .rotary = RotaryForm{.pairs = ir::RopePairs::halves},
        .attention = {.projection_bias = Presence::required},
    };
    return load_decoder(KeyReader(file, "qwen2"), kForm, options);
}

}  // namespace plait::models
