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

}  // namespace
}  // namespace plait::backends::cpu::simd
