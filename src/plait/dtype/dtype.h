#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "plait/dtype/type.h"

// Element and block formats. A format is one file (<format>.cpp, and <format>.h where kernels need its bytes)
// and one row in table.cpp; everybody else looks it up here. Byte layouts and type numbers are those of the
// GGUF specification (ggml docs/gguf.md, `ggml_type`).
namespace plait::dtype {

// `n` is a multiple of block_elements. Decoding gives exactly the value the format names (every product in
// F32).
using DecodeFn = void (*)(const void* blocks, float* values, int64_t n);
// Encoding rounds to nearest (even where the format has a tie) and never produces a NaN or infinite scale
// from finite input; values beyond the format's range become its largest.
using EncodeFn = void (*)(const float* values, void* blocks, int64_t n);
// Changes the scales of blocks of random bits, and of nothing else what it need not, so that all `n` values
// are finite and spread around about 0 with about the given standard deviation, which lies in [2^-10, 1].
using TameFn = void (*)(void* blocks, int64_t n, float deviation);

struct DTypeInfo {
    DType type;
    const char* name;        // as GGUF tools print it, and as flags take it (any case)
    uint32_t gguf_id;        // ggml_type
    int32_t block_elements;  // 1 for element types
    int32_t block_bytes;
    DecodeFn decode;
    EncodeFn encode;  // nullptr: only good quantisers write the format, and Plait has none
    TameFn tame;      // for formats without `encode`, else nullptr
};

// Every format, in the order of DType.
std::span<const DTypeInfo> table();
const DTypeInfo& info(DType type);
// nullptr when unknown.
const DTypeInfo* find_gguf(uint32_t gguf_id);
const DTypeInfo* find_name(std::string_view name);  // ASCII case ignored

// Whether a KV cache can be kept in the format: it encodes, in blocks of at most kMaxCacheBlock, and holds
// fractions.
inline constexpr int kMaxCacheBlock = 32;
bool is_cache_format(DType type);
// The names of those formats, as a sentence lists them.
std::string cache_format_names();

// Bytes of `elements` consecutive values; elements must be a multiple of the block (ENSUREd).
int64_t row_bytes(DType type, int64_t elements);
// Elements rounded up to whole blocks: the width at which a row of `elements` values is stored when it may be
// padded.
int64_t padded_elements(DType type, int64_t elements);

}  // namespace plait::dtype
