#pragma once

#include "plait/ir/op.h"

namespace plait::ir {

// Rows of a table by id: (table [n, width], ids I32 [tokens]) -> F32 [tokens, width].
// Ids come validated: 0 <= id < n.
struct Embed {
    bool operator==(const Embed&) const = default;
    static const Descriptor<Embed>& descriptor();
};

}  // namespace plait::ir
