#pragma once

#include "plait/backends/cpu/simd/matmul_f32-inl.h"
#include "plait/backends/cpu/simd/matmul_q8-inl.h"
#include "plait/backends/cpu/simd/matmul_q8_x8-inl.h"
#include "plait/backends/cpu/simd/quantise-inl.h"
#include "plait/backends/cpu/simd/rows-inl.h"
#include "plait/backends/cpu/simd/tables.h"
#include "plait/backends/cpu/simd/weighted_rows-inl.h"

namespace plait::backends::cpu::simd {
namespace {

// Every kernel, instantiated for one set of operations.
template <class O>
constexpr KernelTable make_table() {
    return {
        .quantise = quantise<O>,
        .matmul_f32 = {.f32 = matmul_f32<O, RowF32<O>>,
                       .f16 = matmul_f32<O, RowF16<O>>,
                       .bf16 = matmul_f32<O, RowBF16<O>>,
                       .q8_0 = matmul_f32<O, RowQ8_0<O>>,
                       .q4_0 = matmul_f32<O, RowQ4_0<O>>,
                       .q4_1 = matmul_f32<O, RowQ4_1<O>>},
        .matmul_q8 = {.q8_0 = matmul_q8<O, DotQ8_0<O>>,
                      .q4_0 = matmul_q8<O, DotQ4_0<O>>,
                      .q4_1 = matmul_q8<O, DotQ4_1<O>>},
        .matmul_q8_x8 = {.q8_0 = matmul_q8_x8<O, PackedQ8_0>,
                         .q4_0 = matmul_q8_x8<O, PackedQ4_0>,
                         .q4_1 = matmul_q8_x8<O, PackedQ4_1>},
        .weighted_rows = {.f32 = weighted_rows<O, RowF32<O>>,
                          .f16 = weighted_rows<O, RowF16<O>>,
                          .bf16 = weighted_rows<O, RowBF16<O>>,
                          .q8_0 = weighted_rows<O, RowQ8_0<O>>,
                          .q4_0 = weighted_rows<O, RowQ4_0<O>>,
                          .q4_1 = weighted_rows<O, RowQ4_1<O>>},
        .max = max<O>,
        .exp_sum = exp_sum<O>,
        .scale = scale<O>,
        .soft_cap = soft_cap_row<O>,
        .add_ramp = add_ramp<O>,
        .rms_norm = rms_norm<O>,
        .layer_norm = layer_norm<O>,
        .add = add<O>,
        .silu = silu_row<O>,
        .gelu_tanh = gelu_tanh_row<O>,
        .silu_mul = silu_mul<O>,
        .gelu_tanh_mul = gelu_tanh_mul<O>,
        .clamped_swiglu = clamped_swiglu<O>,
    };
}

}  // namespace
}  // namespace plait::backends::cpu::simd
