#pragma once

#include <cstdint>
#include <span>
#include <string_view>

// Element and block formats. A format is one file (<format>.cpp, and <format>.h where kernels need its bytes)
// and one row in table.cpp; everybody else looks it up here. Byte layouts and type numbers are those of the
// GGUF specification (ggml docs/gguf.md, `ggml_type`).
namespace plait::dtype {

// Plait's own dense numbering; GGUF's number is a column of the table. Order is the table's order.
enum class DType : uint8_t {
    F32,
    F16,   // IEEE 754 binary16
    BF16,  // upper half of a binary32
    Q8_0,  // 32 signed bytes, one half scale
    Q4_0,  // 32 nibbles minus 8, one half scale
    Q4_1,  // 32 nibbles, half scale and half minimum
    I32,   // ids and positions; never a weight or a cache
};

// `n` is a multiple of block_elements. Decoding gives exactly the value the format names (every product in
// F32).
using DecodeFn = void (*)(const void* blocks, float* values, int64_t n);
// Encoding rounds to nearest (even where the format has a tie) and never produces a NaN or infinite scale
// from finite input; values beyond the format's range become its largest.
using EncodeFn = void (*)(const float* values, void* blocks, int64_t n);

struct DTypeInfo {
    DType type;
    const char* name;        // as GGUF tools print it, and as flags take it (any case)
    uint32_t gguf_id;        // ggml_type
    int32_t block_elements;  // 1 for element types
    int32_t block_bytes;
    DecodeFn decode;
    EncodeFn encode;
};

// Every format, in the order of DType.
std::span<const DTypeInfo> table();
const DTypeInfo& info(DType type);
// nullptr when unknown.
const DTypeInfo* find_gguf(uint32_t gguf_id);
const DTypeInfo* find_name(std::string_view name);  // ASCII case ignored

// Bytes of `elements` consecutive values; elements must be a multiple of the block (ENSUREd).
int64_t row_bytes(DType type, int64_t elements);
// Elements rounded up to whole blocks: the width at which a row of `elements` values is stored when it may be
// padded.
int64_t padded_elements(DType type, int64_t elements);

}  // namespace plait::dtype
