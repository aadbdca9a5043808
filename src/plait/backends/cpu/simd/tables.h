#pragma once

#include "plait/backends/cpu/simd/kernel_table.h"

// One table per instruction set, each defined in kernels_<isa>.cpp. Calling a kernel of a table needs the
// instruction set; taking the table does not.
namespace plait::backends::cpu::simd {

const KernelTable& kernels_scalar();
const KernelTable& kernels_sse4();
const KernelTable& kernels_avx2();
const KernelTable& kernels_avxvnni();
const KernelTable& kernels_avx512vnni();
// What it has of its own, matmul_q8_x8; else it is avx512vnni.
const PerFormat<MatmulFn>& kernels_amx();
const KernelTable& kernels_neon();
const KernelTable& kernels_dotprod();
const KernelTable& kernels_i8mm();
const KernelTable& kernels_sve128();
const KernelTable& kernels_sve256();
const KernelTable& kernels_rvv128();
const KernelTable& kernels_rvv256();

}  // namespace plait::backends::cpu::simd
