#pragma once

#include "plait/backends/cpu/kernel.h"

// What kernels that go row by row have in common.
namespace plait::backends::cpu {

inline int64_t row_width(const ir::Operand& operand) { return operand.desc.shape.last(); }

inline simd::BinaryFn combine_function(const simd::KernelTable& simd, ir::Reduction reduction) {
    switch (reduction) {
        case ir::Reduction::sum:
            return simd.add;
        case ir::Reduction::max:
            return simd.larger;
        case ir::Reduction::min:
            return simd.smaller;
    }
    return nullptr;
}

}  // namespace plait::backends::cpu
