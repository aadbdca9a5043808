#pragma once

#include <cstddef>
#include <cstdint>

// Constants of the GGUF container, shared by reader and writer.
// Source: the GGUF specification (docs/gguf.md in the ggml repository), versions 2 and 3.
//
//   magic "GGUF" | u32 version | u64 tensors | u64 entries
//   entries   x { string key | u32 type | value }
//   tensors   x { string name | u32 dimensions | u64 dimension... | u32 ggml_type | u64 offset in the data
//   section } padding to the alignment, then the data section, in which every tensor starts at a multiple of
//   the alignment
//
// A string is a u64 length and that many bytes (of keys and names: UTF-8); an array is a u32 element type, a
// u64 count and the elements. Versions 2 and 3 differ only in that 3 may also be big-endian, which Plait does
// not read.
namespace plait::gguf {

inline constexpr uint32_t kMagic = 0x46554747;  // "GGUF" read as a little-endian number
inline constexpr uint32_t kOldestVersion = 2;
inline constexpr uint32_t kNewestVersion = 3;

inline constexpr uint64_t kDefaultAlignment = 32;  // without a general.alignment entry
inline constexpr uint64_t kSmallestAlignment = 8;  // the specification asks for a multiple of 8

inline constexpr size_t kMaxKeyBytes = 65535;
inline constexpr size_t kMaxTensorNameBytes = 64;
inline constexpr int kMaxDimensions = 4;
inline constexpr uint64_t kMaxEntries =
    1 << 20;  // Plait's own limit on keys and on tensors, far above any model

}  // namespace plait::gguf
