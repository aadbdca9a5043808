#include <algorithm>
#include <array>
#include <limits>

#include "plait/base/ensure.h"
#include "plait/dtype/bf16.h"
#include "plait/dtype/dtype.h"
#include "plait/dtype/f16.h"
#include "plait/dtype/f32.h"
#include "plait/dtype/i32.h"
#include "plait/dtype/iq1_m.h"
#include "plait/dtype/iq1_s.h"
#include "plait/dtype/iq2_s.h"
#include "plait/dtype/iq2_xs.h"
#include "plait/dtype/iq2_xxs.h"
#include "plait/dtype/iq3_s.h"
#include "plait/dtype/iq3_xxs.h"
#include "plait/dtype/iq4_nl.h"
#include "plait/dtype/iq4_xs.h"
#include "plait/dtype/mxfp4.h"
#include "plait/dtype/nvfp4.h"
#include "plait/dtype/q2_k.h"
#include "plait/dtype/q3_k.h"
#include "plait/dtype/q4_0.h"
#include "plait/dtype/q4_1.h"
#include "plait/dtype/q4_k.h"
#include "plait/dtype/q5_0.h"
#include "plait/dtype/q5_1.h"
#include "plait/dtype/q5_k.h"
#include "plait/dtype/q6_k.h"
#include "plait/dtype/q8_0.h"
#include "plait/dtype/tq1_0.h"
#include "plait/dtype/tq2_0.h"

namespace plait::dtype {
namespace {

// A format that takes values: weights, and what is written while a model runs.
template <class Block>
constexpr DTypeInfo encodable(DType type, const char* name, uint32_t gguf_id, DecodeFn decode,
                              EncodeFn encode) {
    return {type, name, gguf_id, Block::kElements, sizeof(Block), decode, encode, nullptr};
}

// A format of weights only.
template <class Block>
constexpr DTypeInfo weights_only(DType type, const char* name, uint32_t gguf_id, DecodeFn decode,
                                 TameFn tame) {
    return {type, name, gguf_id, Block::kElements, sizeof(Block), decode, nullptr, tame};
}

constexpr std::array kTable = {
    DTypeInfo{DType::F32, "F32", 0, 1, 4, decode_f32, encode_f32, nullptr},
    DTypeInfo{DType::F16, "F16", 1, 1, 2, decode_f16, encode_f16, nullptr},
    DTypeInfo{DType::BF16, "BF16", 30, 1, 2, decode_bf16, encode_bf16, nullptr},
    encodable<BlockQ8_0>(DType::Q8_0, "Q8_0", 8, decode_q8_0, encode_q8_0),
    encodable<BlockQ4_0>(DType::Q4_0, "Q4_0", 2, decode_q4_0, encode_q4_0),
    encodable<BlockQ4_1>(DType::Q4_1, "Q4_1", 3, decode_q4_1, encode_q4_1),
    DTypeInfo{DType::I32, "I32", 26, 1, 4, decode_i32, encode_i32, nullptr},
    encodable<BlockQ5_0>(DType::Q5_0, "Q5_0", 6, decode_q5_0, encode_q5_0),
    encodable<BlockQ5_1>(DType::Q5_1, "Q5_1", 7, decode_q5_1, encode_q5_1),
    encodable<BlockIQ4_NL>(DType::IQ4_NL, "IQ4_NL", 20, decode_iq4_nl, encode_iq4_nl),
    weights_only<BlockQ2_K>(DType::Q2_K, "Q2_K", 10, decode_q2_k, tame_q2_k),
    weights_only<BlockQ3_K>(DType::Q3_K, "Q3_K", 11, decode_q3_k, tame_q3_k),
    weights_only<BlockQ4_K>(DType::Q4_K, "Q4_K", 12, decode_q4_k, tame_q4_k),
    weights_only<BlockQ5_K>(DType::Q5_K, "Q5_K", 13, decode_q5_k, tame_q5_k),
    weights_only<BlockQ6_K>(DType::Q6_K, "Q6_K", 14, decode_q6_k, tame_q6_k),
    weights_only<BlockIQ4_XS>(DType::IQ4_XS, "IQ4_XS", 23, decode_iq4_xs, tame_iq4_xs),
    weights_only<BlockIQ3_S>(DType::IQ3_S, "IQ3_S", 21, decode_iq3_s, tame_iq3_s),
    weights_only<BlockIQ3_XXS>(DType::IQ3_XXS, "IQ3_XXS", 18, decode_iq3_xxs, tame_iq3_xxs),
    weights_only<BlockIQ2_S>(DType::IQ2_S, "IQ2_S", 22, decode_iq2_s, tame_iq2_s),
    weights_only<BlockIQ2_XS>(DType::IQ2_XS, "IQ2_XS", 17, decode_iq2_xs, tame_iq2_xs),
    weights_only<BlockIQ2_XXS>(DType::IQ2_XXS, "IQ2_XXS", 16, decode_iq2_xxs, tame_iq2_xxs),
    weights_only<BlockIQ1_M>(DType::IQ1_M, "IQ1_M", 29, decode_iq1_m, tame_iq1_m),
    weights_only<BlockIQ1_S>(DType::IQ1_S, "IQ1_S", 19, decode_iq1_s, tame_iq1_s),
    weights_only<BlockTQ1_0>(DType::TQ1_0, "TQ1_0", 34, decode_tq1_0, tame_tq1_0),
    weights_only<BlockTQ2_0>(DType::TQ2_0, "TQ2_0", 35, decode_tq2_0, tame_tq2_0),
    weights_only<BlockMXFP4>(DType::MXFP4, "MXFP4", 39, decode_mxfp4, tame_mxfp4),
    weights_only<BlockNVFP4>(DType::NVFP4, "NVFP4", 40, decode_nvfp4, tame_nvfp4),
};

static_assert(kTable.size() == kTypeCount);

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

bool is_cache_format(DType type) {
    const DTypeInfo& row = info(type);
    return row.encode != nullptr && row.block_elements <= kMaxCacheBlock && type != DType::I32;
}

std::string cache_format_names() {
    std::string names;
    for (const DTypeInfo& row : kTable)
        if (is_cache_format(row.type)) names += (names.empty() ? "" : ", ") + std::string(row.name);
    return names;
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
