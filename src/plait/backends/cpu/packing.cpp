#include "plait/backends/cpu/packing.h"

#include <algorithm>
#include <atomic>

#include "plait/backends/cpu/simd/pack_x8.h"
#include "plait/base/ensure.h"
#include "plait/dtype/dtype.h"

namespace plait::backends::cpu {
namespace {

using simd::kPackedRows;

// Work units of packing: some rows of one matrix.
constexpr int64_t kRowsPerUnit = 4 * kPackedRows;

struct PackJob {
    ir::TensorDesc desc;
    const std::byte* from;
    std::byte* to;
    int64_t units_per_matrix;
    int64_t units;
    std::atomic<int64_t> next{0};

    void pack_unit(int64_t unit) const {
        const int64_t matrix = unit / units_per_matrix;
        const int64_t rows = matrix_rows(desc);
        const int64_t begin = unit % units_per_matrix * kRowsPerUnit;
        const int64_t row_bytes = desc.row_bytes();
        simd::pack_x8(desc.type, {.rows_begin = from + (matrix * rows + begin) * row_bytes,
                                  .row_bytes = row_bytes,
                                  .packed = to + matrix * packed_matrix_bytes(desc) + begin * row_bytes,
                                  .rows = std::min(kRowsPerUnit, rows - begin),
                                  .k = desc.shape.last()});
    }
};

void pack_units(void* context, int /*worker*/) {
    auto& job = *static_cast<PackJob*>(context);
    for (int64_t unit = job.next.fetch_add(1); unit < job.units; unit = job.next.fetch_add(1))
        job.pack_unit(unit);
}

}  // namespace

bool can_pack(ir::DType type) { return simd::can_pack_x8(type); }

device::FormatSet packable_formats() {
    device::FormatSet formats = 0;
    for (const dtype::DTypeInfo& row : dtype::table())
        if (can_pack(row.type)) formats |= device::format_bit(row.type);
    return formats;
}

int64_t matrix_rows(const ir::TensorDesc& desc) { return desc.shape[desc.shape.rank() - 2]; }

int64_t packed_matrix_bytes(const ir::TensorDesc& desc) {
    return simd::packed_rows(matrix_rows(desc)) * desc.row_bytes();
}

int64_t packed_bytes(const ir::TensorDesc& desc) {
    if (!can_pack(desc.type) || desc.shape.rank() < 2) return desc.bytes();
    const int64_t matrices = desc.shape.rank() == 3 ? desc.shape[0] : 1;
    return matrices * packed_matrix_bytes(desc);
}

void pack_tensor(Runner& runner, const ir::TensorDesc& desc, std::span<const std::byte> from, std::byte* to) {
    ENSURE(can_pack(desc.type) && desc.shape.rank() >= 2, "only matrices of block formats are packed");
    const int64_t units = (matrix_rows(desc) + kRowsPerUnit - 1) / kRowsPerUnit;
    const int64_t matrices = desc.shape.rank() == 3 ? desc.shape[0] : 1;
    PackJob job{desc, from.data(), to, units, units * matrices};
    runner.run_job(pack_units, &job);
}

void decode_packed_row(ir::DType type, const std::byte* matrix, int64_t row, int64_t k, float* out) {
    const dtype::DTypeInfo& format = dtype::info(type);
    const int64_t blocks = k / format.block_elements;
    const std::byte* pair = matrix + row / kPackedRows * kPackedRows * blocks * format.block_bytes;
    std::byte block[simd::kPackedBlockBytes];
    for (int64_t b = 0; b < blocks; ++b) {
        simd::unpack_x8_block(type, pair, row % kPackedRows, b, block);
        format.decode(block, out + b * format.block_elements, format.block_elements);
    }
}

}  // namespace plait::backends::cpu
