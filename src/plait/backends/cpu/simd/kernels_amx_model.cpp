// Built with the flags of kernels_avx512vnni.cpp.
#include "plait/backends/cpu/simd/ops_avx512vnni-inl.h"
#include "plait/backends/cpu/simd/table-inl.h"
#include "plait/backends/cpu/simd/tile_model-inl.h"

namespace plait::backends::cpu::simd {
namespace {

struct ModelOps : Avx512VnniOps {
    using Tiles = TileModel;
};

constexpr PerFormat<MatmulFn> kProducts = per_format(kMatmulQ8X8<ModelOps>);

}  // namespace

const PerFormat<MatmulFn>& kernels_amx_model() { return kProducts; }
bool kernels_amx_model_holds_tiles() { return TileModel::state().configured; }

}  // namespace plait::backends::cpu::simd
