#pragma once

#include "plait/backends/cpu/simd/kernel_table.h"

// Where a product's tokens lie.
namespace plait::backends::cpu::simd {
namespace {

inline int64_t read_place(const MatmulArgs& a, int64_t token) {
    return a.read_at == nullptr ? token : a.read_at[token];
}

inline const uint8_t* activation_at(const MatmulArgs& a, int64_t token) {
    return static_cast<const uint8_t*>(a.activations) + read_place(a, token) * a.activation_bytes;
}

inline float* output_at(const MatmulArgs& a, int64_t token) {
    return a.out + (a.write_at == nullptr ? token : a.write_at[token]) * a.out_stride;
}

}  // namespace
}  // namespace plait::backends::cpu::simd
