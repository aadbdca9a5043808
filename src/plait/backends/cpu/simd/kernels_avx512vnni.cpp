// Built with -mavx2 -mfma -mf16c -mavx512bw -mavx512vl -mavx512vnni: the EVEX encoding, never in one file
// with VEX's.
#include "plait/backends/cpu/simd/ops_avx512vnni-inl.h"
#include "plait/backends/cpu/simd/table-inl.h"

namespace plait::backends::cpu::simd {
namespace {

constexpr KernelTable kTable = make_table<Avx512VnniOps>();

}  // namespace

const KernelTable& kernels_avx512vnni() { return kTable; }

}  // namespace plait::backends::cpu::simd
