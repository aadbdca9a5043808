#include "plait/models/gpt2.h"

#include "plait/models/blocks/attention.h"
#include "plait/models/blocks/ffn.h"
#include "plait/models/blocks/norm.h"
#include "plait/models/blocks/vocabulary.h"
#include "plait/models/declared_model.h"
#include "plait/models/hyperparameters.h"

namespace plait::models {
namespace {

struct Parameters {
    StackSize size;
    int64_t vocabulary = 0;
    AttentionShape attention;
    float epsilon = 0;

    NormSpec norm() const { return {.width = size.width, .epsilon = epsilon}; }
    FfnShape ffn() const { return {.width = size.width, .inner_width = size.inner_width}; }
};

struct Layer {
    LayerNormLayer attention_norm;
    FusedProjection projection;
    Linear attention_output;
    LayerNormLayer ffn_norm;
    PlainFfn ffn;
};

struct Weights {
    Vocabulary vocabulary;
    WeightIndex positions = 0;
    std::vector<Layer> layers;
    LayerNormLayer output_norm;
};

Parameters read_parameters(const KeyReader& keys) {
    Parameters parameters;
    parameters.size = read_stack_size(keys);
    parameters.vocabulary = keys.token_count();
    parameters.attention = read_equal_heads(keys, parameters.size.width);
    parameters.epsilon = keys.positive("attention.layer_norm_epsilon");
    return parameters;
}

Layer declare_layer(WeightTable& table, int64_t layer, const Parameters& parameters) {
    const int64_t width = parameters.size.width;
    const AttentionShape& shape = parameters.attention;
    return {.attention_norm = declare_layer_norm(table, layer_name(layer, "attn_norm"), parameters.norm()),
            .projection = declare_fused_projection(table, layer, width, shape, Bias::required),
            .attention_output = declare_attention_output(table, layer, width, shape, Bias::required),
            .ffn_norm = declare_layer_norm(table, layer_name(layer, "ffn_norm"), parameters.norm()),
            .ffn = declare_plain_ffn(table, layer, parameters.ffn())};
}

Weights declare_weights(WeightTable& table, const Parameters& parameters) {
    const StackSize& size = parameters.size;
    Weights weights;
    weights.vocabulary =
        declare_vocabulary(table, {.vocabulary = parameters.vocabulary, .width = size.width});
    weights.positions =
        table.require("position_embd.weight", {size.context, size.width}, ir::Role::position_embedding);
    for (int64_t layer = 0; layer < size.layers; ++layer)
        weights.layers.push_back(declare_layer(table, layer, parameters));
    weights.output_norm = declare_layer_norm(table, "output_norm", parameters.norm());
    return weights;
}

class Gpt2 final : public DeclaredModel {
  public:
    Gpt2(Declaration declaration, const Parameters& parameters, Weights weights)
        : DeclaredModel(std::move(declaration)), parameters_(parameters), weights_(std::move(weights)) {}

    ir::Graph build(const GraphOptions& options) const override {
        Builder builder(options, weights(), state_groups());
        ir::ValueId x = embed(builder);
        for (int64_t layer = 0; layer < parameters_.size.layers; ++layer) x = run_layer(builder, layer, x);
        x = norm(builder, weights_.output_norm, wanted_rows(builder, x));
        return std::move(builder).finish(logits(builder, weights_.vocabulary, x));
    }

  private:
    // What the token is plus where it stands.
    ir::ValueId embed(Builder& builder) const {
        const ir::ValueId token = embed_tokens(builder, weights_.vocabulary);
        const ir::ValueId position = builder.add(ir::Embed{}, builder.node_name(weights_.positions),
                                                 {builder.weight(weights_.positions), builder.positions()});
        return builder.add(ir::Add{}, "embd", {token, position});
    }

    // x + attention(norm(x)), then x + ffn(norm(x)).
    ir::ValueId run_layer(Builder& builder, int64_t index, ir::ValueId x) const {
        const Layer& layer = weights_.layers[static_cast<size_t>(index)];
        const AttentionSpec attention{.layer = index, .shape = parameters_.attention};
        ir::ValueId y = norm(builder, layer.attention_norm, x);
        y = attend(builder, attention, project(builder, layer.projection, index, parameters_.attention, y));
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

std::unique_ptr<Model> load_gpt2(const gguf::File& file, const ModelOptions& options) {
    const KeyReader keys(file, "gpt2");
    const Parameters parameters = read_parameters(keys);
    WeightTable table(file, keys.architecture());
    Weights weights = declare_weights(table, parameters);
    Declaration declaration{
        .summary = {.architecture = keys.architecture(),
                    .name = keys.model_name(),
                    .layers = parameters.size.layers,
                    .width = parameters.size.width,
                    .vocabulary = parameters.vocabulary,
                    .trained_context = parameters.size.context,
                    .max_context = parameters.size.context},
        .weights = std::move(table).finish(),
        .state_groups = {kv_cache(parameters.size.layers, parameters.attention, options)}};
    return std::make_unique<Gpt2>(std::move(declaration), parameters, std::move(weights));
}

}  // namespace plait::models
