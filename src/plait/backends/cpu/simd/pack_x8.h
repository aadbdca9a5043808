#pragma once

#include <cstdint>

#include "plait/dtype/type.h"

// The packed layout "x8" of block formats: rows interleaved in groups of 8, so that one 32-byte vector holds
// 4 consecutive codes of 8 rows and an activation operand is a broadcast of 4 bytes.
//
// A group's block is the same block of its 8 rows. Each of a block's fields becomes [units][8 rows][unit
// bytes], in the order of the format's struct (dtype/): numbers of 16 bits in units of 2 bytes, packed scales
// of one byte, codes of 4. The fifth and third bits (Q5_0, Q5_1, Q5_K, Q3_K) are sorted on the way: of every
// 32 elements, 4 bytes, bit c of byte p belongs to element 4 c + p, so that chunk c of the codes takes bit c
// of a vector. The blocks of a group follow each other along k. Rows after the last one are zero. A packed
// matrix takes exactly the bytes of its rows rounded up to a multiple of 8. The bytes are the same on every
// instruction set.
namespace plait::backends::cpu::simd {

constexpr int64_t kPackedRows = 8;

constexpr int64_t packed_rows(int64_t rows) { return (rows + kPackedRows - 1) / kPackedRows * kPackedRows; }

bool can_pack_x8(dtype::DType type);
// Of the largest block that can be packed, of one row.
constexpr int kPackedBlockBytes = 210;

struct PackArgs {
    const void* rows_begin;  // GGUF's row layout
    int64_t row_bytes;       // from one row to the next
    void* packed;            // packed_rows(rows) * bytes of one row
    int64_t rows;
    int64_t k;  // a multiple of the format's block
};

// May be split at multiples of 8 rows. Safe from any thread. The format can be packed.
void pack_x8(dtype::DType type, const PackArgs& args);
// Takes the block of row `row` < 8 out of a group's block.
void unpack_x8_block(dtype::DType type, const void* group_block, int64_t row, void* block);

}  // namespace plait::backends::cpu::simd
