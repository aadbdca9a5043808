#include "plait/backends/cpu/simd/pack_x8.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "plait/base/ensure.h"
#include "plait/dtype/dtype.h"

namespace plait::backends::cpu::simd {
namespace {

using dtype::DType;

// Part of a block: `bytes` of it, in units that stay together. A unit of kBits are the high bits of codes, a
// byte per 8 elements or, `strided`, bit i of byte j that of element 32 i + j.
enum class Unit : int8_t {
    bytes1 = 1,
    bytes2 = 2,
    bytes4 = 4,
    bits,
    strided_bits,
};
struct Field {
    int32_t bytes;
    Unit unit;
};
constexpr int kMostFields = 5;
struct Packing {
    DType type;
    Field fields[kMostFields];
};

constexpr Field kHalf{2, Unit::bytes2};

constexpr Packing kPackings[] = {
    {DType::Q8_0, {kHalf, {32, Unit::bytes4}}},
    {DType::Q4_0, {kHalf, {16, Unit::bytes4}}},
    {DType::Q4_1, {kHalf, kHalf, {16, Unit::bytes4}}},
    {DType::Q5_0, {kHalf, {4, Unit::bits}, {16, Unit::bytes4}}},
    {DType::Q5_1, {kHalf, kHalf, {4, Unit::bits}, {16, Unit::bytes4}}},
    {DType::IQ4_NL, {kHalf, {16, Unit::bytes4}}},
    {DType::MXFP4, {{1, Unit::bytes1}, {16, Unit::bytes4}}},
    {DType::NVFP4, {{4, Unit::bytes1}, {32, Unit::bytes4}}},
    {DType::TQ2_0, {{64, Unit::bytes4}, kHalf}},
    {DType::Q2_K, {{16, Unit::bytes1}, {64, Unit::bytes4}, kHalf, kHalf}},
    {DType::Q3_K, {{32, Unit::strided_bits}, {64, Unit::bytes4}, {12, Unit::bytes1}, kHalf}},
    {DType::Q4_K, {kHalf, kHalf, {12, Unit::bytes1}, {128, Unit::bytes4}}},
    {DType::Q5_K, {kHalf, kHalf, {12, Unit::bytes1}, {32, Unit::strided_bits}, {128, Unit::bytes4}}},
    {DType::Q6_K, {{128, Unit::bytes4}, {64, Unit::bytes4}, {16, Unit::bytes1}, kHalf}},
    {DType::IQ4_XS, {kHalf, {2, Unit::bytes1}, {4, Unit::bytes1}, {128, Unit::bytes4}}},
};
constexpr int kMostBits = 32;  // bytes of high bits in a block

// nullptr for formats that cannot be packed.
const Packing* find_packing(DType type) {
    const auto* found = std::ranges::find(kPackings, type, &Packing::type);
    return found == std::end(kPackings) ? nullptr : found;
}

bool is_bits(Unit unit) { return unit == Unit::bits || unit == Unit::strided_bits; }
int64_t unit_bytes(Unit unit) { return is_bits(unit) ? 4 : static_cast<int64_t>(unit); }

// The high bits of 32 elements, lowest first, and sorted: 4 bytes, of which byte p has those of elements p,
// p + 4, p + 8 ...
uint32_t sorted(uint32_t bits) {
    uint32_t out = 0;
    for (int p = 0; p < 4; ++p) {
        uint32_t fourth = bits >> p & 0x11111111;
        fourth = (fourth | fourth >> 3) & 0x03030303;
        fourth = (fourth | fourth >> 6) & 0x000F000F;
        out |= ((fourth | fourth >> 12) & 0xFF) << 8 * p;
    }
    return out;
}
uint32_t unsorted(uint32_t bits) {
    uint32_t out = 0;
    for (int i = 0; i < 32; ++i) out |= (bits >> (i % 4 * 8 + i / 4) & 1) << i;
    return out;
}

void store_word(uint32_t word, uint8_t* to) {
    for (int byte = 0; byte < 4; ++byte) to[byte] = static_cast<uint8_t>(word >> 8 * byte);
}
uint32_t load_word(const uint8_t* from) {
    uint32_t word = 0;
    for (int byte = 0; byte < 4; ++byte) word |= uint32_t{from[byte]} << 8 * byte;
    return word;
}

void sort_bits(const Field& field, const uint8_t* from, uint8_t* to) {
    for (int part = 0; part < field.bytes / 4; ++part) {
        uint32_t bits = 0;
        if (field.unit == Unit::bits) {
            bits = load_word(from + 4 * part);
        } else {
            for (int i = 0; i < 32; ++i) bits |= (uint32_t{from[i]} >> part & 1) << i;
        }
        store_word(sorted(bits), to + 4 * part);
    }
}

void unsort_bits(const Field& field, const uint8_t* from, uint8_t* to) {
    std::fill_n(to, field.bytes, uint8_t{0});
    for (int part = 0; part < field.bytes / 4; ++part) {
        const uint32_t bits = unsorted(load_word(from + 4 * part));
        if (field.unit == Unit::bits) {
            store_word(bits, to + 4 * part);
        } else {
            for (int i = 0; i < 32; ++i) to[i] = static_cast<uint8_t>(to[i] | (bits >> i & 1) << part);
        }
    }
}

// Moves one block of row `lane` to its places in the group's block.
void pack_block(const Packing& packing, const uint8_t* block, uint8_t* group, int64_t lane) {
    uint8_t bits[kMostBits];
    for (const Field& field : packing.fields) {
        const uint8_t* from = block;
        if (is_bits(field.unit)) {
            sort_bits(field, block, bits);
            from = bits;
        }
        const int64_t unit = unit_bytes(field.unit);
        for (int64_t byte = 0; byte < field.bytes; byte += unit)
            std::memcpy(group + byte * kGroupRows + lane * unit, from + byte, static_cast<size_t>(unit));
        block += field.bytes;
        group += field.bytes * kGroupRows;
    }
}

}  // namespace

bool can_pack_x8(DType type) { return find_packing(type) != nullptr; }

void pack_x8(DType type, const PackArgs& args) {
    const Packing* packing = find_packing(type);
    const dtype::DTypeInfo& format = dtype::info(type);
    ENSURE(packing != nullptr && args.k % format.block_elements == 0, "packing whole blocks");
    const int64_t blocks = args.k / format.block_elements;
    constexpr uint8_t kZero[kPackedBlockBytes] = {};
    const auto* rows = static_cast<const uint8_t*>(args.rows_begin);
    auto* pair = static_cast<uint8_t*>(args.packed);
    for (int64_t row = 0; row < args.rows; row += kPackedRows) {
        for (int64_t b = 0; b < blocks; ++b, pair += kPackedRows * format.block_bytes) {
            for (int64_t lane = 0; lane < kPackedRows; ++lane) {
                const bool exists = row + lane < args.rows;
                const uint8_t* block =
                    exists ? rows + (row + lane) * args.row_bytes + b * format.block_bytes : kZero;
                uint8_t* group = pair + lane / kGroupRows * kGroupRows * format.block_bytes;
                pack_block(*packing, block, group, lane % kGroupRows);
            }
        }
    }
}

void unpack_x8_block(DType type, const void* pair, int64_t row, int64_t block, void* out) {
    const Packing* packing = find_packing(type);
    ENSURE(packing != nullptr, "only what was packed is unpacked");
    const int64_t group_bytes = kGroupRows * dtype::info(type).block_bytes;
    const auto* group = static_cast<const uint8_t*>(pair) + (2 * block + row / kGroupRows) * group_bytes;
    auto* to = static_cast<uint8_t*>(out);
    for (const Field& field : packing->fields) {
        const int64_t unit = unit_bytes(field.unit);
        uint8_t bits[kMostBits];
        uint8_t* plain = is_bits(field.unit) ? bits : to;
        for (int64_t byte = 0; byte < field.bytes; byte += unit)
            std::memcpy(plain + byte, group + byte * kGroupRows + row % kGroupRows * unit,
                        static_cast<size_t>(unit));
        if (is_bits(field.unit)) unsort_bits(field, bits, to);
        to += field.bytes;
        group += field.bytes * kGroupRows;
    }
}

}  // namespace plait::backends::cpu::simd
