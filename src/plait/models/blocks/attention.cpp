#include "plait/models/blocks/attention.h"

#include <cmath>

namespace plait::models {
namespace {

constexpr int32_t kCacheGroup = 0;

// Places of a layer's tensors in kv_cache().
int32_t key_state(int64_t layer) { return static_cast<int32_t>(2 * layer); }
int32_t value_state(int64_t layer) { return static_cast<int32_t>(2 * layer + 1); }

// Writes the nodes of one layer's attention.
class Attending {
  public:
    Attending(Builder& builder, const AttentionSpec& spec) : builder_(builder), spec_(spec) {}

    ir::ValueId split(const char* name, ir::ValueId x, int64_t heads) {
        return builder_.add(ir::SplitHeads{.heads = heads}, node(name), {x});
    }
    ir::ValueId rotate(const char* name, ir::ValueId x) {
        if (!spec_.rotation) return x;
        return builder_.add(ir::Rope{.pairs = spec_.rotation->pairs}, node(name),
                            {x, spec_.rotation->angles});
    }
    void store(const char* name, ir::ValueId x, int32_t state) {
        builder_.write_state(ir::KvWrite{.group = kCacheGroup}, node(name), x, state);
    }
    ir::ValueId attention(ir::ValueId query) {
        const float scale = 1.0f / std::sqrt(static_cast<float>(spec_.shape.key_width));
        return builder_.add(
            ir::Attention{.group = kCacheGroup, .scale = scale}, node("attn"),
            {query, builder_.state(key_state(spec_.layer)), builder_.state(value_state(spec_.layer))});
    }
    ir::ValueId merge(ir::ValueId x) { return builder_.add(ir::MergeHeads{}, node("attn_merged"), {x}); }

  private:
    std::string node(const char* part) const { return layer_name(spec_.layer, part); }

    Builder& builder_;
    const AttentionSpec& spec_;
};

}  // namespace

SeparateProjections declare_separate_projections(WeightTable& table, int64_t layer, int64_t width,
                                                 const AttentionShape& shape) {
    const auto declare = [&](const char* part, int64_t out, ir::Role role) {
        return declare_linear(table, layer_name(layer, part), {.out = out, .in = width, .role = role});
    };
    return {.query = declare("attn_q", shape.query_features(), ir::Role::query),
            .key = declare("attn_k", shape.key_features(), ir::Role::key_value),
            .value = declare("attn_v", shape.value_features(), ir::Role::key_value)};
}

FusedProjection declare_fused_projection(WeightTable& table, int64_t layer, int64_t width,
                                         const AttentionShape& shape, Bias bias) {
    const int64_t out = shape.query_features() + shape.key_features() + shape.value_features();
    return {declare_linear(table, layer_name(layer, "attn_qkv"),
                           {.out = out, .in = width, .role = ir::Role::fused_query_key_value, .bias = bias})};
}

Linear declare_attention_output(WeightTable& table, int64_t layer, int64_t width, const AttentionShape& shape,
                                Bias bias) {
    return declare_linear(
        table, layer_name(layer, "attn_output"),
        {.out = width, .in = shape.output_features(), .role = ir::Role::attention_output, .bias = bias});
}

QueryKeyValue project(Builder& builder, const SeparateProjections& projections, ir::ValueId x) {
    return {.query = linear(builder, projections.query, x),
            .key = linear(builder, projections.key, x),
            .value = linear(builder, projections.value, x)};
}

QueryKeyValue project(Builder& builder, const FusedProjection& projection, int64_t layer,
                      const AttentionShape& shape, ir::ValueId x) {
    const ir::ValueId all = linear(builder, projection.all, x);
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
    query = layer.rotate("q_rope", query);
    key = layer.rotate("k_rope", key);
    layer.store("k_write", key, key_state(spec.layer));
    layer.store("v_write", value, value_state(spec.layer));
    return layer.merge(layer.attention(query));
}

ir::StateGroupSpec kv_cache(int64_t layers, const AttentionShape& shape, const ModelOptions& options) {
    ir::StateGroupSpec group{.name = "kv"};
    for (int64_t layer = 0; layer < layers; ++layer) {
        group.tensors.push_back({.name = layer_name(layer, "k"),
                                 .type = options.key_type,
                                 .heads = shape.kv_heads,
                                 .width = shape.key_width});
        group.tensors.push_back({.name = layer_name(layer, "v"),
                                 .type = options.value_type,
                                 .heads = shape.kv_heads,
                                 .width = shape.value_width});
    }
    return group;
}

}  // namespace plait::models
