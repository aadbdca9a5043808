#include "plait/models/decoder_form.h"
#include "plait/models/decoders.h"

namespace plait::models {

// Attention and feed-forward network side by side behind one norm without bias; R+ has norms for every query
// and key head.
std::unique_ptr<Model> load_command_r(const gguf::File& file, const ModelOptions& options) {
    static constexpr DecoderForm kForm{
        .norm = {.kind = NormKind::layer},
        .rotary = RotaryForm{.pairs = ir::RopePairs::adjacent},
        .attention = {.norms = QueryKeyNorms::by_head},
        .residual = Residual::parallel,
        .scales = {.logits = ScaleForm::Logits::multiplied},
    };
    return load_decoder(KeyReader(file, "command-r"), kForm, options);
}

}  // namespace plait::models
