#pragma once

#include <cstdint>

// F16: IEEE 754 binary16, little-endian, 2 bytes. Encoding keeps infinities and NaN; finite values beyond the
// range become +-65504.
namespace plait::dtype {

void decode_f16(const void* elements, float* values, int64_t n);
void encode_f16(const float* values, void* elements, int64_t n);

}  // namespace plait::dtype
