#pragma once

#include <vector>

#include "plait/ir/op.h"

namespace plait::ir {

// Hands values to the host and takes others from it, between two segments of a program: (any number of F32
// values) -> `received`. While the program pauses there, the host may read the inputs and fills the outputs;
// what it leaves out holds anything. Not a view: the inputs stay what they are and may be used afterwards,
// the outputs have storage of their own.
struct Exchange {
    int32_t id = 0;  // which exchange this is, for the host
    std::vector<TensorDesc> received;
    bool operator==(const Exchange&) const = default;
    static const Descriptor<Exchange>& descriptor();
};

}  // namespace plait::ir
