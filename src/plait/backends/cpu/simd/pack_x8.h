#pragma once

#include <cstdint>

// The packed layout "x8" of block formats: rows interleaved in groups of 8, so that one 32-byte vector holds
// 4 consecutive elements of 8 rows and an activation operand is a broadcast of 4 bytes. Per block of 32
// elements a group stores
//
//   Q8_0   d[8] (F16)             q[8 chunks][8 rows][4]   chunk c: elements 4c .. 4c+3 272 bytes Q4_0   d[8]
//   (F16)             q[4 chunks][8 rows][4]   chunk c: low nibbles 4c .. 4c+3, high + 16      144 bytes Q4_1
//   d[8] (F16) m[8] (F16)  q[4 chunks][8 rows][4]   the same                                        160 bytes
//
// and the blocks of a group follow each other along k. Rows after the last one are zero. A packed matrix
// takes exactly the bytes of its rows rounded up to a multiple of 8. The bytes are the same on every
// instruction set.
namespace plait::backends::cpu::simd {

constexpr int64_t kPackedRows = 8;

constexpr int64_t packed_rows(int64_t rows) { return (rows + kPackedRows - 1) / kPackedRows * kPackedRows; }

struct PackArgs {
    const void* rows_begin;  // GGUF's row layout
    int64_t row_bytes;       // from one row to the next
    void* packed;            // packed_rows(rows) * bytes of one row
    int64_t rows;
    int64_t k;  // a multiple of 32
};

// May be split at multiples of 8 rows. Safe from any thread.
void pack_q8_0_x8(const PackArgs&);
void pack_q4_0_x8(const PackArgs&);
void pack_q4_1_x8(const PackArgs&);

}  // namespace plait::backends::cpu::simd
