#pragma once

#include "plait/ir/op.h"

namespace plait::ir {

// Rows of a table by id: (table [n, width], ids I32 [tokens]) -> F32 [tokens, width].
// The table may be a part of the model's, [first_row, first_row + n); ids of other rows give zeros.
struct Embed {
    int64_t first_row = 0;
    bool operator==(const Embed&) const = default;
    static const Descriptor<Embed>& descriptor();
};

}  // namespace plait::ir
