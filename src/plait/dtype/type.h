#pragma once

#include <cstdint>

// The formats' names, apart from everything else about them (dtype.h): plain C++, for kernels too.
namespace plait::dtype {

// Plait's own dense numbering; GGUF's number is a column of the table. Order is the table's order.
enum class DType : uint8_t {
    F32,
    F16,     // IEEE 754 binary16
    BF16,    // upper half of a binary32
    Q8_0,    // 32 signed bytes, one half scale
    Q4_0,    // 32 nibbles minus 8, one half scale
    Q4_1,    // 32 nibbles, half scale and half minimum
    I32,     // ids and positions; never a weight or a cache
    Q5_0,    // as Q4_0 with five bits
    Q5_1,    // as Q4_1 with five bits
    IQ4_NL,  // 32 nibbles that stand for unevenly spaced values, one half scale
    // Blocks of 256 with scales within scales. The number is that of bits per weight, more or less.
    Q2_K,
    Q3_K,
    Q4_K,
    Q5_K,
    Q6_K,
    IQ4_XS,  // IQ4_NL with scales within scales
    // Points of a grid instead of single numbers.
    IQ3_S,
    IQ3_XXS,
    IQ2_S,
    IQ2_XS,
    IQ2_XXS,
    IQ1_M,
    IQ1_S,
    // -1, 0 and 1.
    TQ1_0,
    TQ2_0,
    // 4-bit floats.
    MXFP4,  // 32 under a power of two
    NVFP4,  // 64, of which 16 at a time under an 8-bit float
};

inline constexpr int kTypeCount = static_cast<int>(DType::NVFP4) + 1;

}  // namespace plait::dtype
