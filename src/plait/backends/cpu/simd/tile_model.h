#pragma once

#include "plait/backends/cpu/simd/kernel_table.h"

// Tests only: amx's kernels with tiles that are made of plain C++ (tile_model-inl.h), for machines that run
// avx512vnni.
namespace plait::backends::cpu::simd {

const PerFormat<MatmulFn>& kernels_amx_model();

// Whether this thread has tiles configured.
bool kernels_amx_model_holds_tiles();

// Where the model stops what a processor would refuse; `expected` is what the operation needs.
[[noreturn]] void tile_fault(const char* expected);

}  // namespace plait::backends::cpu::simd
