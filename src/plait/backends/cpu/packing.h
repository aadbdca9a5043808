#pragma once

#include <cstddef>
#include <span>

#include "plait/backends/cpu/runner.h"
#include "plait/device/describe.h"
#include "plait/ir/tensor.h"

// The CPU's packed layout of matrices: rows interleaved by 8 (simd/pack_x8.h). A stack of matrices
// is packed matrix by matrix.
namespace plait::backends::cpu {

// Packed bytes are kept in files: whoever changes them changes the number (packing_test.cpp knows them).
inline constexpr const char* kPackedLayout = "cpu.x8/3";

// The block formats that can be packed.
bool can_pack(ir::DType type);
device::FormatSet packable_formats();

// Rows of one matrix of the tensor ([rows, k] or [stack, rows, k]).
int64_t matrix_rows(const ir::TensorDesc& desc);
// Bytes of one packed matrix, its rows rounded up to whole pairs of groups.
int64_t packed_matrix_bytes(const ir::TensorDesc& desc);
// Bytes of the whole tensor; for formats that cannot be packed, of its plain rows.
int64_t packed_bytes(const ir::TensorDesc& desc);

// Packs a whole tensor from the row layout, on all workers.
void pack_tensor(Runner& runner, const ir::TensorDesc& desc, std::span<const std::byte> from, std::byte* to);

// One row of a packed matrix as floats.
void decode_packed_row(ir::DType type, const std::byte* matrix, int64_t row, int64_t k, float* out);

}  // namespace plait::backends::cpu
