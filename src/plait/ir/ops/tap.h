#pragma once

#include "plait/ir/op.h"

namespace plait::ir {

// Shows a value to the host between two segments of a program; passes it on unchanged (a view). For debugging
// and for tests that compare or interrupt a step inside: (x F32) -> F32 like x.
struct Tap {
    int32_t id = 0;  // which tap this is, in the graph's order
    bool operator==(const Tap&) const = default;
    static const Descriptor<Tap>& descriptor();
};

}  // namespace plait::ir
