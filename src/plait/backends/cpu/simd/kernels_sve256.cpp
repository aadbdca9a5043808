// Built with -march=armv8.2-a+sve+i8mm -msve-vector-bits=256.
#include "plait/backends/cpu/simd/ops_sve-inl.h"
#include "plait/backends/cpu/simd/table-inl.h"

namespace plait::backends::cpu::simd {
namespace {

constexpr KernelTable kTable = make_table<SveOps>();

}  // namespace

const KernelTable& kernels_sve256() { return kTable; }

}  // namespace plait::backends::cpu::simd
