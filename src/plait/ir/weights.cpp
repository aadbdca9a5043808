#include "plait/ir/weights.h"

namespace plait::ir {

const char* role_name(Role role) {
    switch (role) {
        case Role::replicated:
            return "replicated";
        case Role::embedding:
            return "embedding";
        case Role::tied_embedding:
            return "tied embedding";
        case Role::position_embedding:
            return "position embedding";
        case Role::vocabulary:
            return "vocabulary";
        case Role::query:
            return "query";
        case Role::key_value:
            return "key/value";
        case Role::fused_query_key_value:
            return "fused query/key/value";
        case Role::attention_output:
            return "attention output";
        case Role::ffn_up:
            return "ffn up";
        case Role::fused_gate_up:
            return "fused gate/up";
        case Role::ffn_down:
            return "ffn down";
        case Role::expert_up:
            return "expert up";
        case Role::expert_down:
            return "expert down";
        case Role::expert_down_bias:
            return "expert down bias";
    }
    return "";
}

int64_t StateGroupSpec::bytes_per_token() const {
    int64_t bytes = 0;
    for (const StateTensorSpec& tensor : tensors) {
        bytes +=
            tensor.heads * dtype::row_bytes(tensor.type, dtype::padded_elements(tensor.type, tensor.width));
    }
    return bytes;
}

}  // namespace plait::ir
