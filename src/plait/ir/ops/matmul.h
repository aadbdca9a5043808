#pragma once

#include "plait/ir/op.h"

namespace plait::ir {

// y[t, o] = sum_i x[t, i] * w[o, i]: (x F32 [rows, in], w [out, in] of any weight format) -> F32 [rows, out].
struct Matmul {
    bool operator==(const Matmul&) const = default;
    static const Descriptor<Matmul>& descriptor();
};

// The same with a matrix chosen per row and slot: y[t, s, o] = sum_i x[t, (s,) i] * w[ids[t, s], o, i].
// (x F32 [rows, in] or [rows, used, in], w [experts, out, in], ids I32 [rows, used]) -> F32 [rows, used,
// out]. The operand may have a part of the experts, [first_expert, first_expert + experts); slots of others
// are zeros.
struct MatmulExperts {
    int64_t first_expert = 0;
    bool operator==(const MatmulExperts&) const = default;
    static const Descriptor<MatmulExperts>& descriptor();
};

}  // namespace plait::ir
