#include "plait/models/llama.h"

#include <optional>
#include <variant>

#include "plait/models/blocks/attention.h"
#include "plait/models/blocks/ffn.h"
#include "plait/models/blocks/moe.h"
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
    ir::RopeAngles rope;
    std::optional<ExpertCounts> experts;
    float epsilon = 0;

    NormSpec norm() const { return {.width = size.width, .epsilon = epsilon}; }
    FfnShape ffn() const { return {.width = size.width, .inner_width = size.inner_width}; }
};

using Ffn = std::variant<GatedFfn, MoeFfn>;

struct Layer {
    RmsNormLayer attention_norm;
    SeparateProjections projections;
    Linear attention_output;
    RmsNormLayer ffn_norm;
    Ffn ffn;
};

struct Weights {
    Vocabulary vocabulary;
    std::optional<WeightIndex> rope_divisors;  // how files carry Llama 3's frequency scaling
    std::vector<Layer> layers;
    RmsNormLayer output_norm;
};

Parameters read_parameters(const KeyReader& keys) {
    Parameters parameters;
    parameters.size = read_stack_size(keys);
    parameters.vocabulary = read_vocabulary(keys);
    parameters.attention = read_grouped_heads(keys, parameters.size.width);
    parameters.rope = read_rope(keys, parameters.attention.key_width, parameters.size.context);
    parameters.experts = read_experts(keys);
    parameters.epsilon = keys.positive("attention.layer_norm_rms_epsilon");
    return parameters;
}

Ffn declare_ffn(WeightTable& table, int64_t layer, const Parameters& parameters) {
    if (!parameters.experts) return declare_gated_ffn(table, layer, parameters.ffn());
    return declare_moe_ffn(table, layer,
                           {.shape = parameters.ffn(), .experts = *parameters.experts, .renormalise = true});
}

Layer declare_layer(WeightTable& table, int64_t layer, const Parameters& parameters) {
    const int64_t width = parameters.size.width;
    const AttentionShape& shape = parameters.attention;
    return {.attention_norm = declare_rms_norm(table, layer_name(layer, "attn_norm"), parameters.norm()),
            .projections = declare_separate_projections(table, layer, width, shape),
            .attention_output = declare_attention_output(table, layer, width, shape, Bias::optional),
            .ffn_norm = declare_rms_norm(table, layer_name(layer, "ffn_norm"), parameters.norm()),
            .ffn = declare_ffn(table, layer, parameters)};
}

Weights declare_weights(WeightTable& table, const Parameters& parameters) {
    Weights weights;
    weights.vocabulary =
        declare_vocabulary(table, {.vocabulary = parameters.vocabulary, .width = parameters.size.width});
    weights.rope_divisors =
        table.optional("rope_freqs.weight", {parameters.rope.dims / 2}, ir::Role::replicated);
    for (int64_t layer = 0; layer < parameters.size.layers; ++layer)
        weights.layers.push_back(declare_layer(table, layer, parameters));
    weights.output_norm = declare_rms_norm(table, "output_norm", parameters.norm());
    return weights;
}

class Llama final : public DeclaredModel {
  public:
    Llama(Declaration declaration, const Parameters& parameters, Weights weights)
        : DeclaredModel(std::move(declaration)), parameters_(parameters), weights_(std::move(weights)) {}

    ir::Graph build(const GraphOptions& options) const override {
        Builder builder(options, weights(), state_groups());
        ir::ValueId x = embed_tokens(builder, weights_.vocabulary);
        const Rotation rotation{.angles = rope_angles(builder), .pairs = ir::RopePairs::adjacent};
        for (int64_t layer = 0; layer < parameters_.size.layers; ++layer)
            x = run_layer(builder, layer, rotation, x);
        x = norm(builder, weights_.output_norm, wanted_rows(builder, x));
        return std::move(builder).finish(logits(builder, weights_.vocabulary, x));
    }

  private:
    ir::ValueId rope_angles(Builder& builder) const {
        std::vector<ir::ValueId> inputs{builder.positions()};
        if (weights_.rope_divisors) inputs.push_back(builder.weight(*weights_.rope_divisors));
        return builder.add(parameters_.rope, "rope_angles", std::move(inputs));
    }

    // x + attention(norm(x)), then x + ffn(norm(x)).
    ir::ValueId run_layer(Builder& builder, int64_t index, const Rotation& rotation, ir::ValueId x) const {
        const Layer& layer = weights_.layers[static_cast<size_t>(index)];
        const AttentionSpec attention{.layer = index, .shape = parameters_.attention, .rotation = rotation};
        ir::ValueId y = norm(builder, layer.attention_norm, x);
        y = attend(builder, attention, project(builder, layer.projections, y));
        y = linear(builder, layer.attention_output, y);
        x = builder.add(ir::Add{}, layer_name(index, "attn_residual"), {x, y});

        y = norm(builder, layer.ffn_norm, x);
        y = std::visit([&](const auto& ffn) { return feed_forward(builder, ffn, y); }, layer.ffn);
        x = builder.add(ir::Add{}, layer_name(index, "ffn_residual"), {x, y});
        return builder.tap(layer_name(index, "out"), x);
    }

    Parameters parameters_;
    Weights weights_;
};

}  // namespace

std::unique_ptr<Model> load_llama(const gguf::File& file, const ModelOptions& options) {
    const KeyReader keys(file, "llama");
    const Parameters parameters = read_parameters(keys);
    WeightTable table(file, keys.architecture());
    Weights weights = declare_weights(table, parameters);
    Declaration declaration{
        .summary = {.architecture = keys.architecture(),
                    .name = keys.model_name(),
                    .layers = parameters.size.layers,
                    .width = parameters.size.width,
                    .vocabulary = parameters.vocabulary,
                    .trained_context = parameters.size.context},
        .weights = std::move(table).finish(),
        .state_groups = {kv_cache(parameters.size.layers, parameters.attention, options)}};
    return std::make_unique<Llama>(std::move(declaration), parameters, std::move(weights));
}

}  // namespace plait::models
