#include <utility>

#include "plait/models/declared_model.h"
#include "plait/models/decoder_form.h"
#include "plait/models/decoder_parameters.h"
#include "plait/models/decoder_weights.h"

namespace plait::models {
namespace {

// The graph of any form.
class Decoder final : public DeclaredModel {
  public:
    Decoder(Declaration declaration, const DecoderForm& form, const DecoderParameters& parameters,
            DecoderWeights weights)
        : DeclaredModel(std::move(declaration)),
          form_(form),
          parameters_(parameters),
          weights_(std::move(weights)) {}

    ir::Graph build(const GraphOptions& options) const override {
        Builder builder(options, weights(), state_groups());
        ir::ValueId x = embed(builder);
        const std::optional<Rotation> rotation = rotate(builder);
        for (int64_t layer = 0; layer < parameters_.size.layers; ++layer)
            x = run_layer(builder, layer, is_rotated(layer) ? rotation : std::nullopt, x);
        x = norm(builder, weights_.output_norm, wanted_rows(builder, x));
        x = logits(builder, weights_.vocabulary, x);
        return std::move(builder).finish(scaled(builder, "output_scaled", x, parameters_.logit_scale));
    }

  private:
    // What the token is, plus where it stands if positions are learned.
    ir::ValueId embed(Builder& builder) const {
        const ir::ValueId token = embed_tokens(builder, weights_.vocabulary);
        if (!weights_.positions)
            return scaled(builder, "token_embd_scaled", token, parameters_.embedding_scale);
        const ir::ValueId position = builder.add(ir::Embed{}, builder.node_name(*weights_.positions),
                                                 {builder.weight(*weights_.positions), builder.positions()});
        return builder.add(ir::Add{}, "embd", {token, position});
    }

    std::optional<Rotation> rotate(Builder& builder) const {
        if (!form_.rotary) return std::nullopt;
        std::vector<ir::ValueId> inputs{builder.positions()};
        if (weights_.rope_divisors) inputs.push_back(builder.weight(*weights_.rope_divisors));
        return Rotation{.angles = builder.add(*parameters_.rope, "rope_angles", std::move(inputs)),
                        .pairs = form_.rotary->pairs};
    }

    bool is_rotated(int64_t layer) const {
        const int64_t period = form_.rotary ? form_.rotary->unrotated_period : 0;
        return period == 0 || layer % period != period - 1;
    }

    // x + attention(norm(x)), and to that ffn(its norm); or x + attention(norm(x)) + ffn(norm(x)).
    ir::ValueId run_layer(Builder& builder, int64_t index, const std::optional<Rotation>& rotation,
                          ir::ValueId x) const {
        const DecoderLayer& layer = weights_.layers[static_cast<size_t>(index)];
        const ir::ValueId normed = norm(builder, layer.attention_norm, x);
        const ir::ValueId attended =
            add_half(builder, index, "attn_residual", x, attention(builder, index, rotation, normed));
        const ir::ValueId before = parameters_.parallel ? x : attended;
        const ir::ValueId ffn_input = layer.ffn_norm ? norm(builder, *layer.ffn_norm, before) : normed;
        const ir::ValueId fed =
            std::visit([&](const auto& ffn) { return feed_forward(builder, ffn, ffn_input); }, layer.ffn);
        return builder.tap(layer_name(index, "out"), add_half(builder, index, "ffn_residual", attended, fed));
    }

    ir::ValueId attention(Builder& builder, int64_t index, const std::optional<Rotation>& rotation,
                          ir::ValueId x) const {
        const DecoderLayer& layer = weights_.layers[static_cast<size_t>(index)];
        QueryKeyValue inputs = projected(builder, index, layer.projections, x);
        const bool whole = form_.attention.norms == QueryKeyNorms::whole;
        if (whole) {
            inputs.query = norm(builder, layer.query_key_norms->query, inputs.query);
            inputs.key = norm(builder, layer.query_key_norms->key, inputs.key);
        }
        const AttentionSpec spec{.layer = index,
                                 .shape = parameters_.attention,
                                 .norms = whole ? std::nullopt : layer.query_key_norms,
                                 .rotation = rotation,
                                 .scale = parameters_.attention_scale,
                                 .max_alibi_bias = parameters_.max_alibi_bias};
        return linear(builder, layer.attention_output, attend(builder, spec, inputs));
    }

    QueryKeyValue projected(Builder& builder, int64_t index, const Projections& projections,
                            ir::ValueId x) const {
        if (const auto* fused = std::get_if<FusedProjection>(&projections))
            return project(builder, *fused, index, parameters_.attention, x);
        return project(builder, std::get<SeparateProjections>(projections), x);
    }

    // What half of a layer made of its input, added to the stream.
    ir::ValueId add_half(Builder& builder, int64_t layer, const char* name, ir::ValueId x,
                         ir::ValueId made) const {
        const std::string node = layer_name(layer, name);
        const ir::ValueId y = scaled(builder, node + "_scaled", made, parameters_.residual_scale);
        return builder.add(ir::Add{}, node, {x, y});
    }

    static ir::ValueId scaled(Builder& builder, std::string name, ir::ValueId x, float factor) {
        return factor == 1.0f ? x : builder.add(ir::Scale{.factor = factor}, std::move(name), {x});
    }

    DecoderForm form_;
    DecoderParameters parameters_;
    DecoderWeights weights_;
};

ModelSummary summarise(const KeyReader& keys, const DecoderParameters& parameters, bool learned_positions) {
    return {.architecture = keys.architecture(),
            .name = keys.model_name(),
            .layers = parameters.size.layers,
            .width = parameters.size.width,
            .vocabulary = parameters.vocabulary,
            .trained_context = parameters.size.context,
            .max_context = learned_positions ? parameters.size.context : 0};
}

}  // namespace

std::unique_ptr<Model> load_decoder(const KeyReader& keys, const DecoderForm& form,
                                    const ModelOptions& options) {
    const DecoderParameters parameters = read_decoder_parameters(keys, form, options);
    WeightTable table(keys.file(), keys.architecture());
    DecoderWeights weights = declare_decoder_weights(table, form, parameters);
    const std::vector<int64_t> windows(static_cast<size_t>(parameters.size.layers), parameters.window);
    Declaration declaration{.summary = summarise(keys, parameters, weights.positions.has_value()),
                            .weights = std::move(table).finish(options.warn),
                            .state_groups = kv_caches(windows, parameters.attention, options)};
    return std::make_unique<Decoder>(std::move(declaration), form, parameters, std::move(weights));
}

}  // namespace plait::models
