#include "plait/models/decoder_form.h"
#include "plait/models/decoders.h"

namespace plait::models {

// Qwen 3 with many small experts.
std::unique_ptr<Model> load_qwen3moe(const gguf::File& file, const ModelOptions& options) {
    static constexpr DecoderForm kForm{
        .rotary = RotaryForm{.pairs = ir::RopePairs::halves},
        .attention = {.norms = QueryKeyNorms::per_head},
        .experts = {.presence = Presence::required, .own_width = true},
    };
    return load_decoder(KeyReader(file, "qwen3moe"), kForm, options);
}

}  // namespace plait::models
