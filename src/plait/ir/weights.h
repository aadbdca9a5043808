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
    ffn_down,               // input features are the inner width: the product is a sum of terms
    expert_up,              // ffn_up inside each expert
    expert_down,            // ffn_down inside each expert
};

const char* role_name(Role role);

struct WeightSpec {
    std::string name;  // the tensor's name in the file
    TensorDesc desc;
    Role role = Role::replicated;
};

// One tensor of paged state: for every token one row of `width` values per head.
struct StateTensorSpec {
    std::string name;  // "blk.3.k"
    DType type = DType::F16;
    int64_t heads = 0;
    int64_t width = 0;
    Role role = Role::key_value;
};

// Layers whose state lives equally long share a group: one page list serves all its tensors.
struct StateGroupSpec {
    std::string name;
    int64_t window = 0;  // a token looks at itself and the window - 1 tokens before it; 0: at all
    std::vector<StateTensorSpec> tensors;

    int64_t bytes_per_token() const;  // over all tensors, rows padded to whole blocks
};

}  // namespace plait::ir
