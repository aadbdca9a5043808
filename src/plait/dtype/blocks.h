#pragma once

#include <cstdint>

#include "plait/dtype/half.h"

// Walking over rows of blocks. Internal to this room.
namespace plait::dtype {

// decode_one(block, values of that block)
template <class Block, class DecodeOne>
void decode_blocks(const void* blocks, float* values, int64_t n, DecodeOne decode_one) {
    const auto* block = static_cast<const Block*>(blocks);
    for (int64_t i = 0; i < n; i += Block::kElements, ++block) decode_one(*block, values + i);
}

// encode_one(values of a block, block)
template <class Block, class EncodeOne>
void encode_blocks(const float* values, void* blocks, int64_t n, EncodeOne encode_one) {
    auto* block = static_cast<Block*>(blocks);
    for (int64_t i = 0; i < n; i += Block::kElements, ++block) encode_one(values + i, *block);
}

// change_one(block)
template <class Block, class ChangeOne>
void change_blocks(void* blocks, int64_t n, ChangeOne change_one) {
    auto* block = static_cast<Block*>(blocks);
    for (int64_t i = 0; i < n; i += Block::kElements, ++block) change_one(*block);
}

// For formats whose every bit pattern is valid once the scale is: random codes under d = 1 have the standard
// deviation `spread`.
template <class Block>
void tame_scale(void* blocks, int64_t n, float deviation, float spread) {
    const uint16_t d = f32_to_f16(deviation / spread);
    change_blocks<Block>(blocks, n, [&](Block& block) { block.d = d; });
}

// The same with a minimum: `middle` times d cancels the mean of the codes.
template <class Block>
void tame_scale_and_min(void* blocks, int64_t n, float deviation, float spread, float middle) {
    const uint16_t d = f32_to_f16(deviation / spread);
    const uint16_t dmin = f32_to_f16(deviation / spread * middle);
    change_blocks<Block>(blocks, n, [&](Block& block) {
        block.d = d;
        block.dmin = dmin;
    });
}

// Code i of 256 that lie as the k-quants have them: 128 codes in 32 bytes, code 32 p + j in bits 2 p, 2 p + 1
// of byte j.
inline int unpack_2_bits(const uint8_t* q, int i) { return q[i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2) & 3; }

// Code j of 32 that lie as 16 bytes of low nibbles (code j in the low, code j + 16 in the high nibble of byte
// j) and 4 bytes of fifth bits (code 0 lowest).
inline int unpack_5_bits(const uint8_t* low, const uint8_t* high, int j) {
    const int nibble = j < 16 ? low[j] & 15 : low[j - 16] >> 4;
    return nibble | (high[j / 8] >> (j % 8) & 1) << 4;
}

template <class CodeAt>
void pack_5_bits(uint8_t* low, uint8_t* high, CodeAt code_at) {
    for (int byte = 0; byte < 4; ++byte) high[byte] = 0;
    for (int j = 0; j < 16; ++j) {
        const int first = code_at(j);
        const int second = code_at(j + 16);
        low[j] = static_cast<uint8_t>((first & 15) | (second & 15) << 4);
        high[j / 8] |= static_cast<uint8_t>(first >> 4 << (j % 8));
        high[2 + j / 8] |= static_cast<uint8_t>(second >> 4 << (j % 8));
    }
}

// Little-endian words inside byte arrays.
inline uint16_t read_u16(const uint8_t* bytes) { return static_cast<uint16_t>(bytes[0] | bytes[1] << 8); }
inline uint32_t read_u32(const uint8_t* bytes) {
    return read_u16(bytes) | static_cast<uint32_t>(read_u16(bytes + 2)) << 16;
}

}  // namespace plait::dtype
