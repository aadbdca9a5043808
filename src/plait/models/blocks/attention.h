#pragma once

#include <optional>

#include "plait/models/blocks/builder.h"
#include "plait/models/blocks/linear.h"
#include "plait/models/blocks/norm.h"
#include "plait/models/hyperparameters.h"

// Attention over the sequence's cached keys and values (Vaswani et al. 2017; grouped heads: Ainslie et al.
// 2023).
namespace plait::models {

// Queries, keys and values of the step's tokens: F32 [tokens, heads * width].
struct QueryKeyValue {
    ir::ValueId query = -1;
    ir::ValueId key = -1;
    ir::ValueId value = -1;
};

// Three projections: tensors attn_q, attn_k and attn_v.
struct SeparateProjections {
    Linear query;
    Linear key;
    Linear value;
};

// One whose rows are [Q | K | V]: tensor attn_qkv.
struct FusedProjection {
    Linear all;
    float clamp = 0;  // results are kept within +-clamp; 0: as they are
};

// How weights and state of a layer's attention are cut.
ir::Cut attention_cut(ir::Role role, int64_t layer, const AttentionShape& shape);

SeparateProjections declare_separate_projections(WeightTable& table, int64_t layer, int64_t width,
                                                 const AttentionShape& shape, Bias bias = Bias::optional);
FusedProjection declare_fused_projection(WeightTable& table, int64_t layer, int64_t width,
                                         const AttentionShape& shape, Bias bias);
// Tensor attn_output: the heads' results back to the width.
Linear declare_attention_output(WeightTable& table, int64_t layer, int64_t width, const AttentionShape& shape,
                                Bias bias);

QueryKeyValue project(Builder& builder, const SeparateProjections& projections, ir::ValueId x);
QueryKeyValue project(Builder& builder, const FusedProjection& projection, int64_t layer,
                      const AttentionShape& shape, ir::ValueId x);

// How queries and keys are turned by their position.
struct Rotation {
    ir::ValueId angles = -1;
    ir::RopePairs pairs = ir::RopePairs::adjacent;
};

// Norms of queries and keys, by head or over all heads: tensors attn_q_norm and attn_k_norm.
struct HeadNorms {
    Norm query;
    Norm key;
};

// Of every head by itself, all with the same weights [key width].
HeadNorms declare_head_norms(WeightTable& table, int64_t layer, const AttentionShape& shape, float epsilon);

// What attention in one layer is besides its inputs. Its cache and window are the layer's part of the model's
// kv_caches().
struct AttentionSpec {
    int64_t layer = 0;
    AttentionShape shape;
    std::optional<HeadNorms> norms;  // of every head, before the rotation
    std::optional<Rotation> rotation;
    std::optional<float> scale;  // of the scores; none: 1 / sqrt(key width)
    float soft_cap = 0.0f;       // of the scores; 0: none
    float max_alibi_bias = 0.0f;
    std::optional<WeightIndex> sinks;  // F32 [query heads]
};

// Stores keys and values, then attends: -> F32 [tokens, heads * value width].
ir::ValueId attend(Builder& builder, const AttentionSpec& spec, const QueryKeyValue& inputs);

// The one state group of models whose layers all keep the whole sequence: keys and values, layer by layer.
ir::StateGroupSpec kv_cache(int64_t layers, const AttentionShape& shape, const ModelOptions& options);
// Keys and values of layers that look back differently far: layers of equal windows (0: the whole sequence)
// share a group.
std::vector<ir::StateGroupSpec> kv_caches(std::span<const int64_t> windows, const AttentionShape& shape,
                                          const ModelOptions& options);

}  // namespace plait::models
