#pragma once

#include "plait/ir/tensor.h"

// The SIMD kernels of one kind, one per weight or cache format, by format. nullptr where there is none.
namespace plait::backends::cpu {

// For kinds with block formats only.
template <class Functions>
auto by_block_format(const Functions& functions, ir::DType type) -> decltype(functions.q8_0) {
    switch (type) {
        case ir::DType::Q8_0:
            return functions.q8_0;
        case ir::DType::Q4_0:
            return functions.q4_0;
        case ir::DType::Q4_1:
            return functions.q4_1;
        case ir::DType::F32:
        case ir::DType::F16:
        case ir::DType::BF16:
        case ir::DType::I32:
            return nullptr;
    }
    return nullptr;
}

// For kinds with all formats.
template <class Functions>
auto by_format(const Functions& functions, ir::DType type) -> decltype(functions.f32) {
    switch (type) {
        case ir::DType::F32:
            return functions.f32;
        case ir::DType::F16:
            return functions.f16;
        case ir::DType::BF16:
            return functions.bf16;
        case ir::DType::Q8_0:
        case ir::DType::Q4_0:
        case ir::DType::Q4_1:
        case ir::DType::I32:
            return by_block_format(functions, type);
    }
    return nullptr;
}

}  // namespace plait::backends::cpu
