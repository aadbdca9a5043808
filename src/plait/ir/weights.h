#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plait/ir/tensor.h"

// What a model says about each of its weights and each piece of its state.
namespace plait::ir {

// How a weight takes part in the computation, and therefore along which axis it may be cut over members.
// Shapes are [out, in] for matrices and [experts, out, in] for stacked experts.
enum class Role : uint8_t {
    replicated,             // small, or needed whole by everybody: norms, frequency factors, routers
    embedding,              // token table [vocab, width], not shared with the output
    tied_embedding,         // token table that is the output matrix as well: both read one stored slice
    position_embedding,     // table [positions, width]
    vocabulary,             // output matrix [vocab, width]: output features are vocabulary ids
    query,                  // output features are query heads
    key_value,              // output features are key or value heads
    fused_query_key_value,  // rows are [Q | K | V], each cut by its own heads
    attention_output,       // input features are query heads: the product is a sum of terms
    ffn_up,                 // up or gate: output features are the inner width
    fused_gate_up,          // rows are [gate | up], each cut as ffn_up
    ffn_down,               // input features are the inner width: the product is a sum of terms
    expert_up,              // ffn_up inside each expert
    expert_down,            // ffn_down inside each expert
    expert_down_bias,       // its bias [experts, width]: a term that is added once
};

const char* role_name(Role role);

// The heads of one attention. A query head reads key/value head number (its own / queries_per_kv()).
struct HeadCounts {
    int64_t query = 0;
    int64_t kv = 0;  // divides query
    int64_t key_width = 0;
    int64_t value_width = 0;

    int64_t queries_per_kv() const { return query / kv; }
    bool operator==(const HeadCounts&) const = default;
};

// Where a weight may be cut. Weights and state of one `part`, which is an attention or a feed-forward
// network, are cut at the same places.
struct Cut {
    Role role = Role::replicated;
    std::string part;  // "blk.3.attn"; empty for roles that stand alone
    HeadCounts heads;  // of roles that are about heads

    Cut(Role of = Role::replicated) : role(of) {}  // NOLINT: a role that stands alone is a cut
    Cut(Role of, std::string in_part) : role(of), part(std::move(in_part)) {}
    Cut(Role of, std::string in_part, const HeadCounts& of_heads)
        : role(of), part(std::move(in_part)), heads(of_heads) {}
};

struct WeightSpec {
    std::string name;  // the tensor's name in the file
    TensorDesc desc;
    Cut cut;

    Role role() const { return cut.role; }
};

// One tensor of paged state: for every token one row of `width` values per head.
struct StateTensorSpec {
    std::string name;  // "blk.3.k"
    DType type = DType::F16;
    int64_t heads = 0;
    int64_t width = 0;
    Cut cut = Role::key_value;
};

// Layers whose state lives equally long share a group: one page list serves all its tensors.
struct StateGroupSpec {
    std::string name;
    int64_t window = 0;  // a token looks at itself and the window - 1 tokens before it; 0: at all
    std::vector<StateTensorSpec> tensors;

    int64_t bytes_per_token() const;  // over all tensors, rows padded to whole blocks
};

}  // namespace plait::ir
