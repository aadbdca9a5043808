// Built with -mssse3 -msse4.1.
#include "plait/backends/cpu/simd/ops_sse4-inl.h"
#include "plait/backends/cpu/simd/table-inl.h"

namespace plait::backends::cpu::simd {
namespace {

constexpr KernelTable kTable = make_table<Sse4Ops>();

}  // namespace

const KernelTable& kernels_sse4() { return kTable; }

}  // namespace plait::backends::cpu::simd
