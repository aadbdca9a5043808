#include "plait/models/gemma3.h"

#include "plait/models/blocks/attention.h"
#include "plait/models/gemma_stack.h"

namespace plait::models {
namespace {

constexpr int64_t kLayersOf27b = 62;
constexpr int64_t kPeriod = 6;              // five local, one global
constexpr float kLocalRopeBase = 10000.0f;  // never scaled

}  // namespace

std::unique_ptr<Model> load_gemma3(const gguf::File& file, const ModelOptions& options) {
    const KeyReader keys(file, "gemma3");
    GemmaParameters parameters = read_gemma(keys, kLayersOf27b);
    parameters.head_norms = true;
    parameters.windows =
        read_windows(keys, parameters.size.layers, keys.count("attention.sliding_window"), kPeriod);
    parameters.local_rope = ir::RopeAngles{.dims = parameters.rope.dims,
                                           .base = keys.base_or("rope.freq_base_swa", kLocalRopeBase)};
    return make_gemma(keys, std::move(parameters), options);
}

}  // namespace plait::models
