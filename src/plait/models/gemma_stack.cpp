#include "plait/models/gemma_stack.h"

#include <cmath>
#include <utility>

#include "plait/models/blocks/attention.h"
#include "plait/models/blocks/ffn.h"
#include "plait/models/blocks/norm.h"
#include "plait/models/blocks/vocabulary.h"
#include "plait/models/declared_model.h"

namespace plait::models {
namespace {

struct Layer {
    RmsNormLayer attention_norm;
    SeparateProjections projections;
    std::optional<HeadNorms> head_norms;
    Linear attention_output;
    RmsNormLayer attention_post_norm;
    RmsNormLayer ffn_norm;
    GatedFfn ffn;
    RmsNormLayer ffn_post_norm;
};

struct Weights {
    Vocabulary vocabulary;
    std::vector<Layer> layers;
    RmsNormLayer output_norm;
};

Layer declare_layer(WeightTable& table, int64_t layer, const GemmaParameters& parameters) {
    const int64_t width = parameters.size.width;
    const AttentionShape& shape = parameters.attention;
    const auto declare_norm = [&](const char* part) {
        return declare_rms_norm(table, layer_name(layer, part),
                                {.width = width, .epsilon = parameters.epsilon});
    };
    Layer declared{
        .attention_norm = declare_norm("attn_norm"),
        .projections = declare_separate_projections(table, layer, width, shape),
        .attention_output = declare_attention_output(table, layer, width, shape, Bias::optional),
        .attention_post_norm = declare_norm("post_attention_norm"),
        .ffn_norm = declare_norm("ffn_norm"),
        .ffn = declare_gated_ffn(table, layer,
                                 {.shape = {.width = width, .inner_width = parameters.size.inner_width},
                                  .activation = ir::Activation::gelu_tanh,
                                  .bias = Bias::optional}),
        .ffn_post_norm = declare_norm("post_ffw_norm")};
    if (parameters.head_norms)
        declared.head_norms = declare_head_norms(table, layer, shape, parameters.epsilon);
    return declared;
}

Weights declare_weights(WeightTable& table, const GemmaParameters& parameters) {
    const int64_t width = parameters.size.width;
    Weights weights;
    weights.vocabulary = declare_vocabulary(table, {.vocabulary = parameters.vocabulary, .width = width});
    for (int64_t layer = 0; layer < parameters.size.layers; ++layer)
        weights.layers.push_back(declare_layer(table, layer, parameters));
    weights.output_norm =
        declare_rms_norm(table, "output_norm", {.width = width, .epsilon = parameters.epsilon});
    return weights;
}

class Gemma final : public DeclaredModel {
  public:
    Gemma(Declaration declaration, GemmaParameters parameters, Weights weights)
        : DeclaredModel(std::move(declaration)),
          parameters_(std::move(parameters)),
          weights_(std::move(weights)) {}

    ir::Graph build(const GraphOptions& options) const override {
        Builder builder(options, weights(), state_groups());
        ir::ValueId x = embed_tokens(builder, weights_.vocabulary);
        const float root_of_width = std::sqrt(static_cast<float>(parameters_.size.width));
        x = builder.add(ir::Scale{.factor = root_of_width}, "embedding_scale", {x});
        const ir::ValueId global = builder.add(parameters_.rope, "rope_angles", {builder.positions()});
        const ir::ValueId local = local_angles(builder, global);
        for (int64_t layer = 0; layer < parameters_.size.layers; ++layer) {
            const bool is_local = parameters_.windows[static_cast<size_t>(layer)] != 0;
            x = run_layer(builder, layer, is_local ? local : global, x);
        }
        x = norm(builder, weights_.output_norm, wanted_rows(builder, x));
        x = logits(builder, weights_.vocabulary, x);
        if (parameters_.logit_cap > 0.0f)
            x = builder.add(ir::SoftCap{.cap = parameters_.logit_cap}, "output_cap", {x});
        return std::move(builder).finish(x);
    }

  private:
    ir::ValueId local_angles(Builder& builder, ir::ValueId global) const {
        if (!parameters_.local_rope) return global;
        return builder.add(*parameters_.local_rope, "local_rope_angles", {builder.positions()});
    }

    // x + norm(attention(norm(x))), then x + norm(ffn(norm(x))).
    ir::ValueId run_layer(Builder& builder, int64_t index, ir::ValueId angles, ir::ValueId x) const {
        const Layer& layer = weights_.layers[static_cast<size_t>(index)];
        const AttentionSpec attention{.layer = index,
                                      .shape = parameters_.attention,
                                      .norms = layer.head_norms,
                                      .rotation = Rotation{.angles = angles, .pairs = ir::RopePairs::halves},
                                      .scale = parameters_.attention_scale,
                                      .soft_cap = parameters_.attention_cap};
        ir::ValueId y = norm(builder, layer.attention_norm, x);
        y = attend(builder, attention, project(builder, layer.projections, y));
        y = linear(builder, layer.attention_output, y);
        y = norm(builder, layer.attention_post_norm, y);
        x = builder.add(ir::Add{}, layer_name(index, "attn_residual"), {x, y});

        y = norm(builder, layer.ffn_norm, x);
        y = feed_forward(builder, layer.ffn, y);
        y = norm(builder, layer.ffn_post_norm, y);
        x = builder.add(ir::Add{}, layer_name(index, "ffn_residual"), {x, y});
        return builder.tap(layer_name(index, "out"), x);
    }

    GemmaParameters parameters_;
    Weights weights_;
};

float attention_scale(const GemmaParameters& parameters, int64_t layers_of_27b) {
    const AttentionShape& shape = parameters.attention;
    const bool is_27b = parameters.size.layers == layers_of_27b;
    const int64_t scaled_by = is_27b ? parameters.size.width / shape.query_heads : shape.key_width;
    return 1.0f / std::sqrt(static_cast<float>(scaled_by));
}

}  // namespace

GemmaParameters read_gemma(const KeyReader& keys, int64_t layers_of_27b) {
    GemmaParameters parameters;
    parameters.size = read_stack_size(keys);
    parameters.vocabulary = read_vocabulary(keys);
    parameters.attention = read_grouped_heads(keys, parameters.size.width);
    parameters.epsilon = keys.positive("attention.layer_norm_rms_epsilon");
    parameters.attention_scale = attention_scale(parameters, layers_of_27b);
    parameters.windows.assign(static_cast<size_t>(parameters.size.layers), 0);
    parameters.rope = read_rope(keys, parameters.attention.key_width, parameters.size.context);
    return parameters;
}

std::unique_ptr<Model> make_gemma(const KeyReader& keys, GemmaParameters parameters,
                                  const ModelOptions& options) {
    WeightTable table(keys.file(), keys.architecture());
    Weights weights = declare_weights(table, parameters);
    Declaration declaration{.summary = {.architecture = keys.architecture(),
                                        .name = keys.model_name(),
                                        .layers = parameters.size.layers,
                                        .width = parameters.size.width,
                                        .vocabulary = parameters.vocabulary,
                                        .trained_context = parameters.size.context},
                            .weights = std::move(table).finish(options.warn),
                            .state_groups = kv_caches(parameters.windows, parameters.attention, options)};
    return std::make_unique<Gemma>(std::move(declaration), std::move(parameters), std::move(weights));
}

}  // namespace plait::models
