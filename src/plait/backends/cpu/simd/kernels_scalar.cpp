// Built without instruction-set flags and with the compiler's vectorisers off.
#include "plait/backends/cpu/simd/ops_scalar-inl.h"
#include "plait/backends/cpu/simd/table-inl.h"

namespace plait::backends::cpu::simd {
namespace {

constexpr KernelTable kTable = make_table<ScalarOps>();

}  // namespace

const KernelTable& kernels_scalar() { return kTable; }

}  // namespace plait::backends::cpu::simd
