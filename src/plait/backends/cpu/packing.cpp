#include "plait/backends/cpu/packing.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>

#include "plait/backends/cpu/simd/pack_x8.h"
#include "plait/base/ensure.h"
#include "plait/dtype/q4_0.h"
#include "plait/dtype/q4_1.h"
#include "plait/dtype/q8_0.h"

namespace plait::backends::cpu {
namespace {

using simd::kPackedRows;

// A format that can be packed. Of its blocks the first `halves` numbers are scales of 16 bits, the rest
// codes.
struct Packable {
    ir::DType type;
    int64_t halves;
    void (*pack)(const simd::PackArgs&);
};
constexpr Packable kPackable[] = {{ir::DType::Q8_0, 1, simd::pack_q8_0_x8},
                                  {ir::DType::Q4_0, 1, simd::pack_q4_0_x8},
                                  {ir::DType::Q4_1, 2, simd::pack_q4_1_x8}};
constexpr size_t kLargestBlock = sizeof(dtype::BlockQ8_0);
static_assert(kLargestBlock >= sizeof(dtype::BlockQ4_0) && kLargestBlock >= sizeof(dtype::BlockQ4_1));

// nullptr for formats that cannot be packed.
const Packable* find_packable(ir::DType type) {
    const auto* found = std::ranges::find(kPackable, type, &Packable::type);
    return found == std::end(kPackable) ? nullptr : found;
}

// Work units of packing: some groups of rows of one matrix.
constexpr int64_t kRowsPerUnit = 8 * kPackedRows;

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
        find_packable(desc.type)->pack({.rows_begin = from + (matrix * rows + begin) * row_bytes,
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

// Takes one row's block out of a group's block: scales lie as [scale][row], codes in chunks of 4 bytes per
// row.
void extract_block(ir::DType type, const std::byte* group_block, int64_t row, std::byte* block) {
    const int64_t scales = find_packable(type)->halves;
    for (int64_t s = 0; s < scales; ++s) {
        std::memcpy(block + s * 2, group_block + (s * kPackedRows + row) * 2, 2);
    }
    const std::byte* codes = group_block + scales * 2 * kPackedRows;
    const int64_t chunks = (dtype::info(type).block_bytes - scales * 2) / 4;
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        std::memcpy(block + scales * 2 + chunk * 4, codes + (chunk * kPackedRows + row) * 4, 4);
    }
}

}  // namespace

bool can_pack(ir::DType type) { return find_packable(type) != nullptr; }

device::FormatSet packable_formats() {
    device::FormatSet formats = 0;
    for (const Packable& row : kPackable) formats |= device::format_bit(row.type);
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
    const int64_t group_block_bytes = format.block_bytes * kPackedRows;
    const std::byte* group = matrix + row / kPackedRows * blocks * group_block_bytes;
    std::byte block[kLargestBlock];
    for (int64_t b = 0; b < blocks; ++b) {
        extract_block(type, group + b * group_block_bytes, row % kPackedRows, block);
        format.decode(block, out + b * format.block_elements, format.block_elements);
    }
}

}  // namespace plait::backends::cpu
