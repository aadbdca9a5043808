#include "plait/backends/cpu/simd/pack_x8.h"

#include <algorithm>
#include <cstring>

#include "plait/base/ensure.h"
#include "plait/dtype/q4_0.h"
#include "plait/dtype/q4_1.h"
#include "plait/dtype/q8_0.h"

namespace plait::backends::cpu::simd {
namespace {

constexpr int kChunkBytes = 4;  // of one row in one vector

// How many F16 numbers lead a block. The rest of it is quants, which keep their order within a row.
template <class Block>
constexpr int kHalves = 1;
template <>
constexpr int kHalves<dtype::BlockQ4_1> = 2;

// Moves one block of row `lane` to its places in the group's block.
template <class Block>
void pack_block(const uint8_t* block, uint8_t* group, int64_t lane) {
    constexpr int64_t kHead = 2 * kHalves<Block>;
    for (int64_t half = 0; half < kHalves<Block>; ++half)
        std::memcpy(group + 2 * (half * kPackedRows + lane), block + 2 * half, 2);
    uint8_t* chunks = group + kHead * kPackedRows;
    for (int64_t byte = 0; byte < static_cast<int64_t>(sizeof(Block)) - kHead; byte += kChunkBytes)
        std::memcpy(chunks + byte * kPackedRows + lane * kChunkBytes, block + kHead + byte, kChunkBytes);
}

template <class Block>
void pack(const PackArgs& args) {
    ENSURE(args.k % Block::kElements == 0, "packing whole blocks");
    const int64_t blocks = args.k / Block::kElements;
    constexpr int64_t kGroupBytes = kPackedRows * sizeof(Block);
    static constexpr Block kZero = {};
    const auto* rows = static_cast<const uint8_t*>(args.rows_begin);
    auto* group = static_cast<uint8_t*>(args.packed);
    for (int64_t row = 0; row < args.rows; row += kPackedRows) {
        for (int64_t b = 0; b < blocks; ++b, group += kGroupBytes) {
            for (int64_t lane = 0; lane < kPackedRows; ++lane) {
                const bool exists = row + lane < args.rows;
                const uint8_t* block = exists ? rows + (row + lane) * args.row_bytes + b * sizeof(Block)
                                              : reinterpret_cast<const uint8_t*>(&kZero);
                pack_block<Block>(block, group, lane);
            }
        }
    }
}

}  // namespace

void pack_q8_0_x8(const PackArgs& args) { pack<dtype::BlockQ8_0>(args); }
void pack_q4_0_x8(const PackArgs& args) { pack<dtype::BlockQ4_0>(args); }
void pack_q4_1_x8(const PackArgs& args) { pack<dtype::BlockQ4_1>(args); }

}  // namespace plait::backends::cpu::simd
