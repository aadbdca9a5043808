#include "plait/models/decoder_form.h"
#include "plait/models/decoders.h"

namespace plait::models {

// A norm for every query and key head instead of biases, and heads whose width is not the model's divided.
std::unique_ptr<Model> load_qwen3(const gguf::File& file, const ModelOptions& options) {
    static constexpr DecoderForm kForm{
        .rotary = RotaryForm{.pairs = ir::RopePairs::halves},
        .attention = {.norms = QueryKeyNorms::per_head},
    };
    return load_decoder(KeyReader(file, "qwen3"), kForm, options);
}

}  // namespace plait::models
