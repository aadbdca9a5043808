#include "plait/models/gemma2.h"

#include "plait/models/blocks/attention.h"
#include "plait/models/gemma_stack.h"

namespace plait::models {
namespace {

constexpr int64_t kLayersOf27b = 46;
constexpr int64_t kPeriod = 2;  // local, global
// Where early files say nothing.
constexpr int64_t kUsualWindow = 4096;
constexpr float kUsualAttentionCap = 50.0f;
constexpr float kUsualLogitCap = 30.0f;

}  // namespace

std::unique_ptr<Model> load_gemma2(const gguf::File& file, const ModelOptions& options) {
    const KeyReader keys(file, "gemma2");
    GemmaParameters parameters = read_gemma(keys, kLayersOf27b);
    parameters.windows = read_windows(keys, parameters.size.layers,
                                      keys.count_or("attention.sliding_window", kUsualWindow), kPeriod);
    parameters.attention_cap = keys.positive_or("attn_logit_softcapping", kUsualAttentionCap);
    parameters.logit_cap = keys.positive_or("final_logit_softcapping", kUsualLogitCap);
    return make_gemma(keys, std::move(parameters), options);
}

}  // namespace plait::models
