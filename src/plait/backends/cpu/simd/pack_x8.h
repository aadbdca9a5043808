#pragma once

#include <cstdint>

#include "plait/dtype/type.h"

// The packed layout "x8" of block formats: rows interleaved in groups of 8, so that one 32-byte vector holds
// 4 consecutive codes of 8 rows and an activation operand is a broadcast of 4 bytes.
//
// A group's block is the same block of its 8 rows; groups come in pairs, whose blocks alternate along k, so
// that 16 rows are read as one stream. Each of a block's fields becomes [units][8 rows][unit bytes], in the
// order of the format's struct (dtype/): numbers of 16 bits in units of 2 bytes, packed scales of one byte,
// codes of 4. The fifth and third bits (Q5_0, Q5_1, Q5_K, Q3_K) are sorted on the way: of every 32 elements,
// 4 bytes, bit c of byte p belongs to element 4 c + p, so that chunk c of the codes takes bit c of a vector.
// Rows after the last one are zero. A packed matrix takes exactly the bytes of its rows rounded up to a
// multiple of 16. The bytes are the same on every instruction set.
namespace plait::backends::cpu::simd {

constexpr int64_t kGroupRows = 8;
constexpr int64_t kPackedRows = 16;  // of a pair of groups

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

// May be split at multiples of kPackedRows. Safe from any thread. The format can be packed.
void pack_x8(dtype::DType type, const PackArgs& args);
// Takes block number `block` of row `row` < kPackedRows out of a pair of groups.
void unpack_x8_block(dtype::DType type, const void* pair, int64_t row, int64_t block, void* out);

}  // namespace plait::backends::cpu::simd
