#pragma once

#include <cstdint>

// Asking the memory for weights before they are read.
namespace plait::backends::cpu::simd {
namespace {

// For bytes that are read once, soon. They may lie behind the weights: a prefetch does not fault.
template <int Bytes>
void prefetch(const uint8_t* p) {
#pragma GCC unroll 16
    for (int line = 0; line < Bytes; line += 64) __builtin_prefetch(p + line, 0, 0);
}

// For bytes that are read once, after much other work.
inline void prefetch_for_later(const uint8_t* begin, const uint8_t* end) {
    for (; begin < end; begin += 64) __builtin_prefetch(begin, 0, 2);
}

}  // namespace
}  // namespace plait::backends::cpu::simd
