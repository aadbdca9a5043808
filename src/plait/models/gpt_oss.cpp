#include "plait/models/gpt_oss.h"

#include <vector>

#include "plait/models/blocks/attention.h"
#include "plait/models/blocks/moe.h"
#include "plait/models/blocks/norm.h"
#include "plait/models/blocks/vocabulary.h"
#include "plait/models/declared_model.h"
#include "plait/models/hyperparameters.h"

namespace plait::models {
namespace {

constexpr int64_t kPeriod = 2;  // a layer with a window, one without

struct Parameters {
    StackSize size;
    int64_t vocabulary = 0;
    AttentionShape attention;
    std::vector<int64_t> windows;  // by layer; 0: none
    ir::RopeAngles rope;
    MoeSpec moe;
    float epsilon = 0;

    NormSpec norm() const { return {.width = size.width, .epsilon = epsilon}; }
};

struct Layer {
    RmsNormLayer attention_norm;
    SeparateProjections projections;
    WeightIndex sinks = 0;
    Linear attention_output;
    RmsNormLayer ffn_norm;
    MoeFfn ffn;
};

struct Weights {
    Vocabulary vocabulary;
    std::vector<Layer> layers;
    RmsNormLayer output_norm;
};

MoeSpec read_moe(const KeyReader& keys, const StackSize& size) {
    return {.shape = {.width = size.width, .inner_width = size.inner_width},
            .experts = require_experts(keys),
            .renormalise = true,
            .gating = ir::ClampedSwiglu{.limit = 7.0f, .alpha = 1.702f},
            .bias = Bias::required};
}

Parameters read_parameters(const KeyReader& keys) {
    Parameters parameters;
    parameters.size = read_stack_size(keys, "expert_feed_forward_length");
    parameters.vocabulary = read_vocabulary(keys);
    parameters.attention = read_grouped_heads(keys, parameters.size.width);
    parameters.windows =
        read_windows(keys, parameters.size.layers, keys.count("attention.sliding_window"), kPeriod);
    parameters.rope = read_rope(keys, parameters.attention.key_width, parameters.size.context);
    parameters.rope.whole_pairs = false;  // as published ("truncate": false); files have no key for it
    parameters.moe = read_moe(keys, parameters.size);
    parameters.epsilon = keys.positive("attention.layer_norm_rms_epsilon");
    return parameters;
}

Layer declare_layer(WeightTable& table, int64_t layer, const Parameters& parameters) {
    const int64_t width = parameters.size.width;
    const AttentionShape& shape = parameters.attention;
    return {.attention_norm = declare_rms_norm(table, layer_name(layer, "attn_norm"), parameters.norm()),
            .projections = declare_separate_projections(table, layer, width, shape, Bias::required),
            .sinks = table.require(layer_name(layer, "attn_sinks.weight"), {shape.query_heads},
                                   attention_cut(ir::Role::query, layer, shape)),
            .attention_output = declare_attention_output(table, layer, width, shape, Bias::required),
            .ffn_norm = declare_rms_norm(table, layer_name(layer, "post_attention_norm"), parameters.norm()),
            .ffn = declare_moe_ffn(table, layer, parameters.moe)};
}

Weights declare_weights(WeightTable& table, const Parameters& parameters) {
    Weights weights;
    weights.vocabulary =
        declare_vocabulary(table, {.vocabulary = parameters.vocabulary, .width = parameters.size.width});
    for (int64_t layer = 0; layer < parameters.size.layers; ++layer)
        weights.layers.push_back(declare_layer(table, layer, parameters));
    weights.output_norm = declare_rms_norm(table, "output_norm", parameters.norm());
    return weights;
}

class GptOss final : public DeclaredModel {
  public:
    GptOss(Declaration declaration, Parameters parameters, Weights weights)
        : DeclaredModel(std::move(declaration)),
          parameters_(std::move(parameters)),
          weights_(std::move(weights)) {}

    ir::Graph build(const GraphOptions& options) const override {
        Builder builder(options, weights(), state_groups());
        ir::ValueId x = embed_tokens(builder, weights_.vocabulary);
        const Rotation rotation{.angles = builder.add(parameters_.rope, "rope_angles", {builder.positions()}),
                                .pairs = ir::RopePairs::halves};
        for (int64_t layer = 0; layer < parameters_.size.layers; ++layer)
            x = run_layer(builder, layer, rotation, x);
        x = norm(builder, weights_.output_norm, wanted_rows(builder, x));
        return std::move(builder).finish(logits(builder, weights_.vocabulary, x));
    }

  private:
    // x + attention(norm(x)), then x + experts(norm(x)).
    ir::ValueId run_layer(Builder& builder, int64_t index, const Rotation& rotation, ir::ValueId x) const {
        const Layer& layer = weights_.layers[static_cast<size_t>(index)];
        const AttentionSpec attention{
            .layer = index, .shape = parameters_.attention, .rotation = rotation, .sinks = layer.sinks};
        ir::ValueId y = norm(builder, layer.attention_norm, x);
        y = attend(builder, attention, project(builder, layer.projections, y));
        y = linear(builder, layer.attention_output, y);
        x = builder.add(ir::Add{}, layer_name(index, "attn_residual"), {x, y});

        y = feed_forward(builder, layer.ffn, norm(builder, layer.ffn_norm, x));
        x = builder.add(ir::Add{}, layer_name(index, "ffn_residual"), {x, y});
        return builder.tap(layer_name(index, "out"), x);
    }

    Parameters parameters_;
    Weights weights_;
};

}  // namespace

std::unique_ptr<Model> load_gpt_oss(const gguf::File& file, const ModelOptions& options) {
    const KeyReader keys(file, "gpt-oss");
    Parameters parameters = read_parameters(keys);
    WeightTable table(file, keys.architecture());
    Weights weights = declare_weights(table, parameters);
    Declaration declaration{.summary = {.architecture = keys.architecture(),
                                        .name = keys.model_name(),
                                        .layers = parameters.size.layers,
                                        .width = parameters.size.width,
                                        .vocabulary = parameters.vocabulary,
                                        .trained_context = parameters.size.context},
                            .weights = std::move(table).finish(options.warn),
                            .state_groups = kv_caches(parameters.windows, parameters.attention, options)};
    return std::make_unique<GptOss>(std::move(declaration), std::move(parameters), std::move(weights));
}

}  // namespace plait::models
