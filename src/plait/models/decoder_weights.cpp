#include "plait/models/decoder_weights.h"

#include "plait/base/ensure.h"

namespace plait::models {
namespace {

// Declares one layer's weights.
class LayerWeights {
  public:
    LayerWeights(WeightTable& table, int64_t layer, const DecoderForm& form,
                 const DecoderParameters& parameters)
        : table_(table), layer_(layer), form_(form), parameters_(parameters) {}

    DecoderLayer declare() {
        return {.attention_norm = norm("attn_norm", {width()}),
                .projections = projections(),
                .query_key_norms = query_key_norms(),
                .attention_output =
                    declare_attention_output(table_, layer_, width(), heads(), form_.attention.output_bias),
                .ffn_norm = ffn_norm(),
                .ffn = ffn()};
    }

  private:
    int64_t width() const { return parameters_.size.width; }
    const AttentionShape& heads() const { return parameters_.attention; }

    ir::Cut cut(ir::Role role) const { return attention_cut(role, layer_, heads()); }

    Norm norm(const char* part, const ir::Shape& shape, const ir::Cut& cut = {}) {
        return declare_norm(table_, layer_name(layer_, part), form_.norm,
                            {.shape = shape, .cut = cut, .epsilon = parameters_.epsilon});
    }

    bool has(const char* part) const { return table_.contains(layer_name(layer_, part) + ".weight"); }

    // By head, a file has both or neither.
    std::optional<HeadNorms> query_key_norms() {
        constexpr const char* kQuery = "attn_q_norm";
        constexpr const char* kKey = "attn_k_norm";
        switch (form_.attention.norms) {
            case QueryKeyNorms::none:
                return std::nullopt;
            case QueryKeyNorms::per_head:
                return HeadNorms{norm(kQuery, {heads().key_width}), norm(kKey, {heads().key_width})};
            case QueryKeyNorms::by_head:
                if (!has(kQuery) && !has(kKey)) return std::nullopt;
                return HeadNorms{norm(kQuery, {heads().query_heads, heads().key_width}, cut(ir::Role::query)),
                                 norm(kKey, {heads().kv_heads, heads().key_width}, cut(ir::Role::key_value))};
            case QueryKeyNorms::whole:
                return HeadNorms{norm(kQuery, {heads().query_features()}, cut(ir::Role::query)),
                                 norm(kKey, {heads().key_features()}, cut(ir::Role::key_value))};
        }
        ENSURE(false, "every form of norms has weights");
    }

    std::optional<Norm> ffn_norm() {
        if (form_.residual == Residual::parallel) return std::nullopt;
        return norm("ffn_norm", {width()});
    }

    Projections projections() {
        const Presence bias = form_.attention.projection_bias;
        if (!form_.attention.fused_projection)
            return declare_separate_projections(table_, layer_, width(), heads(), bias);
        FusedProjection fused = declare_fused_projection(table_, layer_, width(), heads(), bias);
        fused.clamp = parameters_.clamp;
        return fused;
    }

    Ffn ffn() {
        if (parameters_.experts) return experts(*parameters_.experts);
        const FfnSpec spec{.shape = {.width = width(), .inner_width = parameters_.size.inner_width},
                           .activation = form_.ffn.activation,
                           .bias = form_.ffn.bias};
        switch (form_.ffn.kind) {
            case FfnKind::gated:
                return declare_gated_ffn(table_, layer_, spec);
            case FfnKind::fused_gated:
                return declare_fused_gated_ffn(table_, layer_, spec);
            case FfnKind::plain:
                return declare_plain_ffn(table_, layer_, spec);
        }
        ENSURE(false, "every kind of network has weights");
    }

    MoeFfn experts(const ExpertSizes& sizes) {
        return declare_moe_ffn(table_, layer_,
                               {.shape = {.width = width(), .inner_width = sizes.inner_width},
                                .experts = sizes.counts,
                                .renormalise = form_.experts.renormalise,
                                .shared_width = sizes.shared_width});
    }

    WeightTable& table_;
    const int64_t layer_;
    const DecoderForm& form_;
    const DecoderParameters& parameters_;
};

std::optional<WeightIndex> declare_positions(WeightTable& table, const DecoderForm& form,
                                             const StackSize& size) {
    return table.find("position_embd.weight", {size.context, size.width}, ir::Role::position_embedding,
                      form.learned_positions);
}

// Of two sets one is used; a file has both or neither.
std::optional<WeightIndex> declare_divisors_by_context(WeightTable& table, bool long_context,
                                                       const ir::Shape& shape) {
    const std::string sets[] = {"rope_factors_short.weight", "rope_factors_long.weight"};
    if (!table.contains(sets[0]) && !table.contains(sets[1])) return std::nullopt;
    const WeightIndex chosen = table.require(sets[long_context ? 1 : 0], shape, ir::Role::replicated);
    table.expect(sets[long_context ? 0 : 1], shape);
    return chosen;
}

std::optional<WeightIndex> declare_divisors(WeightTable& table, const DecoderForm& form,
                                            const DecoderParameters& parameters) {
    if (!form.rotary) return std::nullopt;
    const ir::Shape shape{parameters.rope->dims / 2};
    switch (form.rotary->divisors) {
        case RopeDivisors::none:
            return std::nullopt;
        case RopeDivisors::optional:
            return table.optional("rope_freqs.weight", shape, ir::Role::replicated);
        case RopeDivisors::by_context:
            return declare_divisors_by_context(table, parameters.long_context, shape);
    }
    ENSURE(false, "every kind of divisors is somewhere");
}

}  // namespace

DecoderWeights declare_decoder_weights(WeightTable& table, const DecoderForm& form,
                                       const DecoderParameters& parameters) {
    const StackSize& size = parameters.size;
    DecoderWeights weights;
    weights.vocabulary =
        declare_vocabulary(table, {.vocabulary = parameters.vocabulary, .width = size.width});
    weights.positions = declare_positions(table, form, size);
    weights.rope_divisors = declare_divisors(table, form, parameters);
    for (int64_t layer = 0; layer < size.layers; ++layer)
        weights.layers.push_back(LayerWeights(table, layer, form, parameters).declare());
    weights.output_norm =
        declare_norm(table, "output_norm", form.norm, {.shape = {size.width}, .epsilon = parameters.epsilon});
    return weights;
}

}  // namespace plait::models
