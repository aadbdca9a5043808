#pragma once

#include <cstdint>

// I32: two's complement, little-endian, 4 bytes. Decoding rounds to F32 (exact up to 2^24); encoding rounds
// to nearest even, clamps to the range, and turns NaN into 0.
namespace plait::dtype {

void decode_i32(const void* elements, float* values, int64_t n);
void encode_i32(const float* values, void* elements, int64_t n);

}  // namespace plait::dtype
