#pragma once

#include <cstdint>

// How the k-quants pack 6-bit scales into 12 bytes (ggml: get_scale_min_k4 and dequantize_row_q3_K). Plain
// C++ without external linkage: kernels built with instruction-set flags of their own include this too.
namespace plait::dtype {
namespace {

struct ScaleMin {
    int scale;
    int min;
};

// Q4_K and Q5_K: 8 scales and 8 minimums. Bytes 0 to 3 hold scales 0 to 3, bytes 4 to 7 minimums 0 to 3;
// bytes 8 to 11 the low halves of scales 4 to 7 (low nibble) and minimums 4 to 7 (high nibble), whose upper
// two bits are those of the first 8 bytes.
inline ScaleMin scale_min_at(const uint8_t* packed, int i) {
    if (i < 4) return {packed[i] & 63, packed[i + 4] & 63};
    const int j = i - 4;
    return {(packed[8 + j] & 15) | packed[j] >> 6 << 4, packed[8 + j] >> 4 | packed[4 + j] >> 6 << 4};
}

// Q3_K: 16 scales. Bytes 0 to 7 hold the low halves of scales 0 to 7 (low nibble) and 8 to 15 (high nibble);
// byte 8 + b the upper two bits of scales b, b + 4, b + 8 and b + 12, lowest first.
inline int scale_at(const uint8_t* packed, int i) {
    const int low = i < 8 ? packed[i] & 15 : packed[i - 8] >> 4;
    return low | (packed[8 + i % 4] >> (2 * (i / 4)) & 3) << 4;
}

}  // namespace
}  // namespace plait::dtype
