// Built with -march=armv8.2-a+dotprod.
#include "plait/backends/cpu/simd/ops_dotprod-inl.h"
#include "plait/backends/cpu/simd/table-inl.h"

namespace plait::backends::cpu::simd {
namespace {

struct DotprodOps : DotprodBase {
    using Wide = DotprodOps;
};

constexpr KernelTable kTable = make_table<DotprodOps>();

}  // namespace

const KernelTable& kernels_dotprod() { return kTable; }

}  // namespace plait::backends::cpu::simd
