#include "plait/models/decoder_form.h"
#include "plait/models/decoders.h"

namespace plait::models {

// Many small experts; norms over all query heads and over all key heads. The chosen experts keep the weights
// that the softmax over all of them gave.
std::unique_ptr<Model> load_olmoe(const gguf::File& file, const ModelOptions& options) {
    static constexpr DecoderForm kForm{
        .rotary = RotaryForm{.pairs = ir::RopePairs::halves},
        .attention = {.norms = QueryKeyNorms::whole},
        .experts = {.presence = Presence::required, .renormalise = false},
    };
    return load_decoder(KeyReader(file, "olmoe"), kForm, options);
}

}  // namespace plait::models
