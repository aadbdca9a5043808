#pragma once

#include <cstdint>

// F32: IEEE 754 binary32, little-endian, 4 bytes. Both directions copy; every bit pattern survives.
namespace plait::dtype {

void decode_f32(const void* elements, float* values, int64_t n);
void encode_f32(const float* values, void* elements, int64_t n);

}  // namespace plait::dtype
