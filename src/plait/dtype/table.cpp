#include <algorithm>
#include <array>
#include <limits>

#include "plait/base/ensure.h"
#include "plait/dtype/bf16.h"
#include "plait/dtype/dtype.h"
#include "plait/dtype/f16.h"
#include "plait/dtype/f32.h"
#include "plait/dtype/i32.h"
#include "plait/dtype/q4_0.h"
#include "plait/dtype/q4_1.h"
#include "plait/dtype/q8_0.h"

namespace plait::dtype {
namespace {

constexpr std::array kTable = {
    DTypeInfo{DType::F32, "F32", 0, 1, 4, decode_f32, encode_f32},
    DTypeInfo{DType::F16, "F16", 1, 1, 2, decode_f16, encode_f16},
    DTypeInfo{DType::BF16, "BF16", 30, 1, 2, decode_bf16, encode_bf16},
    DTypeInfo{DType::Q8_0, "Q8_0", 8, BlockQ8_0::kElements, sizeof(BlockQ8_0), decode_q8_0, encode_q8_0},
    DTypeInfo{DType::Q4_0, "Q4_0", 2, BlockQ4_0::kElements, sizeof(BlockQ4_0), decode_q4_0, encode_q4_0},
    DTypeInfo{DType::Q4_1, "Q4_1", 3, BlockQ4_1::kElements, sizeof(BlockQ4_1), decode_q4_1, encode_q4_1},
    DTypeInfo{DType::I32, "I32", 26, 1, 4, decode_i32, encode_i32},
};

constexpr bool in_enum_order() {
    for (size_t i = 0; i < kTable.size(); ++i)
        if (kTable[i].type != static_cast<DType>(i)) return false;
    return true;
}
static_assert(in_enum_order(), "info() indexes the table by DType");

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_name(std::string_view a, std::string_view b) { return std::ranges::equal(a, b, {}, lower, lower); }

template <class Matches>
const DTypeInfo* find(Matches matches) {
    const auto found = std::ranges::find_if(kTable, matches);
    return found == kTable.end() ? nullptr : &*found;
}

}  // namespace

std::span<const DTypeInfo> table() { return kTable; }

const DTypeInfo& info(DType type) {
    const auto index = static_cast<size_t>(type);
    ENSURE(index < kTable.size(), "a DType outside the table");
    return kTable[index];
}

const DTypeInfo* find_gguf(uint32_t gguf_id) {
    return find([&](const DTypeInfo& row) { return row.gguf_id == gguf_id; });
}

const DTypeInfo* find_name(std::string_view name) {
    return find([&](const DTypeInfo& row) { return same_name(row.name, name); });
}

int64_t row_bytes(DType type, int64_t elements) {
    const DTypeInfo& row = info(type);
    ENSURE(elements >= 0 && elements % row.block_elements == 0, row.name);
    const int64_t blocks = elements / row.block_elements;
    ENSURE(blocks <= std::numeric_limits<int64_t>::max() / row.block_bytes, row.name);
    return blocks * row.block_bytes;
}

int64_t padded_elements(DType type, int64_t elements) {
    const int64_t block = info(type).block_elements;
    ENSURE(elements >= 0 && elements <= std::numeric_limits<int64_t>::max() - (block - 1), info(type).name);
    return (elements + block - 1) / block * block;
}

}  // namespace plait::dtype
