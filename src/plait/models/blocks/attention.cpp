#include "plait/models/blocks/attention.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace plait::models {
namespace {

constexpr const char* kKeys = "k";
constexpr const char* kValues = "v";

// Writes the nodes of one layer's attention.
class Attending {
  public:
    Attending(Builder& builder, const AttentionSpec& spec)
        : builder_(builder),
          spec_(spec),
          keys_(builder.find_state(node(kKeys))),
          values_(builder.find_state(node(kValues))) {}

    ir::ValueId split(const char* name, ir::ValueId x, int64_t heads) {
        return builder_.add(ir::SplitHeads{.heads = heads}, node(name), {x});
    }
    ir::ValueId rotate(const char* name, ir::ValueId x) {
        if (!spec_.rotation) return x;
        return builder_.add(ir::Rope{.pairs = spec_.rotation->pairs}, node(name),
                            {x, spec_.rotation->angles});
    }
    void store(ir::ValueId key, ir::ValueId value) {
        builder_.write_state(ir::KvWrite{.group = keys_.group}, node("k_write"), key, keys_);
        builder_.write_state(ir::KvWrite{.group = values_.group}, node("v_write"), value, values_);
    }
    ir::ValueId attention(ir::ValueId query) {
        std::vector<ir::ValueId> inputs{query, builder_.state(keys_), builder_.state(values_)};
        if (spec_.sinks) inputs.push_back(builder_.weight(*spec_.sinks));
        return builder_.add(op(), node("attn"), std::move(inputs));
    }
    ir::ValueId merge(ir::ValueId x) { return builder_.add(ir::MergeHeads{}, node("attn_merged"), {x}); }

  private:
    std::string node(const char* part) const { return layer_name(spec_.layer, part); }

    ir::Attention op() const {
        const float usual_scale = 1.0f / std::sqrt(static_cast<float>(spec_.shape.key_width));
        return {.group = keys_.group,
                .scale = spec_.scale.value_or(usual_scale),
                .window = keys_.window,
                .soft_cap = spec_.soft_cap,
                .alibi = {.max_bias = spec_.max_alibi_bias, .all_heads = spec_.shape.query_heads}};
    }

    Builder& builder_;
    const AttentionSpec& spec_;
    const StatePlace keys_;
    const StatePlace values_;
};

void add_tensors(ir::StateGroupSpec& group, int64_t layer, const AttentionShape& shape,
                 const ModelOptions& options) {
    group.tensors.push_back({.name = layer_name(layer, kKeys),
                             .type = options.key_type,
                             .heads = shape.kv_heads,
                             .width = shape.key_width,
                             .cut = attention_cut(ir::Role::key_value, layer, shape)});
    group.tensors.push_back({.name = layer_name(layer, kValues),
                             .type = options.value_type,
                             .heads = shape.kv_heads,
                             .width = shape.value_width,
                             .cut = attention_cut(ir::Role::key_value, layer, shape)});
}

std::string cache_name(int64_t window) { return window == 0 ? "kv" : "kv_window_" + std::to_string(window); }

}  // namespace

ir::Cut attention_cut(ir::Role role, int64_t layer, const AttentionShape& shape) {
    return {role,
            layer_name(layer, "attn"),
            {.query = shape.query_heads,
             .kv = shape.kv_heads,
             .key_width = shape.key_width,
             .value_width = shape.value_width}};
}

SeparateProjections declare_separate_projections(WeightTable& table, int64_t layer, int64_t width,
                                                 const AttentionShape& shape, Bias bias) {
    const auto declare = [&](const char* part, int64_t out, ir::Role role) {
        return declare_linear(
            table, layer_name(layer, part),
            {.out = out, .in = width, .cut = attention_cut(role, layer, shape), .bias = bias});
    };
    return {.query = declare("attn_q", shape.query_features(), ir::Role::query),
            .key = declare("attn_k", shape.key_features(), ir::Role::key_value),
            .value = declare("attn_v", shape.value_features(), ir::Role::key_value)};
}

FusedProjection declare_fused_projection(WeightTable& table, int64_t layer, int64_t width,
                                         const AttentionShape& shape, Bias bias) {
    const int64_t out = shape.query_features() + shape.key_features() + shape.value_features();
    return {declare_linear(table, layer_name(layer, "attn_qkv"),
                           {.out = out,
                            .in = width,
                            .cut = attention_cut(ir::Role::fused_query_key_value, layer, shape),
                            .bias = bias})};
}

Linear declare_attention_output(WeightTable& table, int64_t layer, int64_t width, const AttentionShape& shape,
                                Bias bias) {
    return declare_linear(table, layer_name(layer, "attn_output"),
                          {.out = width,
                           .in = shape.output_features(),
                           .cut = attention_cut(ir::Role::attention_output, layer, shape),
                           .bias = bias});
}

QueryKeyValue project(Builder& builder, const SeparateProjections& projections, ir::ValueId x) {
    return {.query = linear(builder, projections.query, x),
            .key = linear(builder, projections.key, x),
            .value = linear(builder, projections.value, x)};
}

QueryKeyValue project(Builder& builder, const FusedProjection& projection, int64_t layer,
                      const AttentionShape& shape, ir::ValueId x) {
    ir::ValueId all = linear(builder, projection.all, x);
    if (projection.clamp > 0.0f)
        all = builder.add(ir::Clamp{.limit = projection.clamp}, layer_name(layer, "attn_qkv_clamped"), {all});
    const auto slice = [&](const char* part, int64_t begin, int64_t extent) {
        return builder.add(ir::Slice{.begin = begin, .extent = extent}, layer_name(layer, part), {all});
    };
    const int64_t keys = shape.query_features();
    const int64_t values = keys + shape.key_features();
    return {.query = slice("attn_q", 0, shape.query_features()),
            .key = slice("attn_k", keys, shape.key_features()),
            .value = slice("attn_v", values, shape.value_features())};
}

ir::ValueId attend(Builder& builder, const AttentionSpec& spec, const QueryKeyValue& inputs) {
    Attending layer(builder, spec);
    ir::ValueId query = layer.split("q_heads", inputs.query, spec.shape.query_heads);
    ir::ValueId key = layer.split("k_heads", inputs.key, spec.shape.kv_heads);
    const ir::ValueId value = layer.split("v_heads", inputs.value, spec.shape.kv_heads);
    if (spec.norms) {
        query = norm(builder, spec.norms->query, query);
        key = norm(builder, spec.norms->key, key);
    }
    query = layer.rotate("q_rope", query);
    key = layer.rotate("k_rope", key);
    layer.store(key, value);
    return layer.merge(layer.attention(query));
}

HeadNorms declare_head_norms(WeightTable& table, int64_t layer, const AttentionShape& shape, float epsilon) {
    const NormSpec spec{.width = shape.key_width, .epsilon = epsilon};
    return {.query = declare_rms_norm(table, layer_name(layer, "attn_q_norm"), spec),
            .key = declare_rms_norm(table, layer_name(layer, "attn_k_norm"), spec)};
}

ir::StateGroupSpec kv_cache(int64_t layers, const AttentionShape& shape, const ModelOptions& options) {
    const std::vector<int64_t> windows(static_cast<size_t>(layers), 0);
    return kv_caches(windows, shape, options).front();
}

std::vector<ir::StateGroupSpec> kv_caches(std::span<const int64_t> windows, const AttentionShape& shape,
                                          const ModelOptions& options) {
    std::vector<ir::StateGroupSpec> groups;
    for (size_t layer = 0; layer < windows.size(); ++layer) {
        auto group = std::ranges::find(groups, windows[layer], &ir::StateGroupSpec::window);
        if (group == groups.end())
            group = groups.insert(group, {.name = cache_name(windows[layer]), .window = windows[layer]});
        add_tensors(*group, static_cast<int64_t>(layer), shape, options);
    }
    return groups;
}

}  // namespace plait::models
