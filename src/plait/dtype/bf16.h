#pragma once

#include <cstdint>

// BF16: the upper half of a binary32, little-endian, 2 bytes. Encoding keeps infinities and NaN; finite
// values that would round to infinity become the largest finite value.
namespace plait::dtype {

void decode_bf16(const void* elements, float* values, int64_t n);
void encode_bf16(const float* values, void* elements, int64_t n);

}  // namespace plait::dtype
