// Built with -march=rv64gcv_zvl128b -mrvv-vector-bits=zvl.
#include "plait/backends/cpu/simd/ops_rvv-inl.h"
#include "plait/backends/cpu/simd/table-inl.h"

namespace plait::backends::cpu::simd {
namespace {

constexpr KernelTable kTable = make_table<RvvOps>();

}  // namespace

const KernelTable& kernels_rvv128() { return kTable; }

}  // namespace plait::backends::cpu::simd
