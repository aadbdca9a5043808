#pragma once

#include "plait/backends/cpu/simd/attention-inl.h"
#include "plait/backends/cpu/simd/matmul_f32-inl.h"
#include "plait/backends/cpu/simd/matmul_floats-inl.h"
#include "plait/backends/cpu/simd/matmul_q8-inl.h"
#include "plait/backends/cpu/simd/matmul_q8_codes-inl.h"
#include "plait/backends/cpu/simd/matmul_q8_x8-inl.h"
#include "plait/backends/cpu/simd/quantise-inl.h"
#include "plait/backends/cpu/simd/rows-inl.h"
#include "plait/backends/cpu/simd/sequence-inl.h"
#include "plait/backends/cpu/simd/tables.h"
#include "plait/backends/cpu/simd/weighted_rows-inl.h"
#include "plait/backends/cpu/simd/weights_k-inl.h"

namespace plait::backends::cpu::simd {
namespace {

using dtype::DType;

template <class Fn>
struct FormatKernel {
    dtype::DType type;
    Fn function;
};

template <class Fn, int N>
constexpr PerFormat<Fn> per_format(const FormatKernel<Fn> (&kernels)[N]) {
    PerFormat<Fn> table{};
    for (const FormatKernel<Fn>& kernel : kernels) table.of[static_cast<int>(kernel.type)] = kernel.function;
    return table;
}

// Kernels that read rows through a Row struct (weights-inl.h, weights_k-inl.h).
template <class O>
constexpr FormatKernel<MatmulFn> kMatmulF32[] = {
    {DType::F32, matmul_f32<O, RowF32<O>>},       {DType::F16, matmul_f32<O, RowF16<O>>},
    {DType::BF16, matmul_f32<O, RowBF16<O>>},     {DType::Q8_0, matmul_f32<O, RowQ8_0<O>>},
    {DType::Q4_0, matmul_f32<O, RowQ4_0<O>>},     {DType::Q4_1, matmul_f32<O, RowQ4_1<O>>},
    {DType::Q5_0, matmul_f32<O, RowQ5_0<O>>},     {DType::Q5_1, matmul_f32<O, RowQ5_1<O>>},
    {DType::IQ4_NL, matmul_f32<O, RowIQ4_NL<O>>}, {DType::MXFP4, matmul_f32<O, RowMXFP4<O>>},
    {DType::Q2_K, matmul_f32<O, RowQ2_K<O>>},     {DType::Q3_K, matmul_f32<O, RowQ3_K<O>>},
    {DType::Q4_K, matmul_f32<O, RowQ4_K<O>>},     {DType::Q5_K, matmul_f32<O, RowQ5_K<O>>},
    {DType::Q6_K, matmul_f32<O, RowQ6_K<O>>},     {DType::IQ4_XS, matmul_f32<O, RowIQ4_XS<O>>},
};

template <class O>
constexpr FormatKernel<MatmulFn> kMatmulFloats[] = {
    {DType::F32, matmul_floats<O, RowF32>},
    {DType::F16, matmul_floats<O, RowF16>},
    {DType::BF16, matmul_floats<O, RowBF16>},
};

// What attention values are stored as, that is the formats of caches.
template <class O>
constexpr FormatKernel<WeightedRowsFn> kWeightedRows[] = {
    {DType::F32, weighted_rows<O, RowF32>},          {DType::F16, weighted_rows<O, RowF16>},
    {DType::BF16, weighted_rows<O, RowBF16>},        {DType::Q8_0, weighted_rows<O, RowQ8_0>},
    {DType::Q4_0, weighted_rows<O, RowQ4_0>},        {DType::Q4_1, weighted_rows<O, RowQ4_1>},
    {DType::Q5_0, weighted_rows<O, RowQ5_0, O>},     {DType::Q5_1, weighted_rows<O, RowQ5_1, O>},
    {DType::IQ4_NL, weighted_rows<O, RowIQ4_NL, O>},
};

template <class O>
constexpr FormatKernel<UnpackFn> kUnpackKeys[] = {
    {DType::F32, unpack_keys<O, RowF32<O>>},       {DType::F16, unpack_keys<O, RowF16<O>>},
    {DType::BF16, unpack_keys<O, RowBF16<O>>},     {DType::Q8_0, unpack_keys<O, RowQ8_0<O>>},
    {DType::Q4_0, unpack_keys<O, RowQ4_0<O>>},     {DType::Q4_1, unpack_keys<O, RowQ4_1<O>>},
    {DType::Q5_0, unpack_keys<O, RowQ5_0<O>>},     {DType::Q5_1, unpack_keys<O, RowQ5_1<O>>},
    {DType::IQ4_NL, unpack_keys<O, RowIQ4_NL<O>>},
};

template <class O>
constexpr FormatKernel<UnpackFn> kUnpackValues[] = {
    {DType::F32, unpack_values<O, RowF32<O>>},       {DType::F16, unpack_values<O, RowF16<O>>},
    {DType::BF16, unpack_values<O, RowBF16<O>>},     {DType::Q8_0, unpack_values<O, RowQ8_0<O>>},
    {DType::Q4_0, unpack_values<O, RowQ4_0<O>>},     {DType::Q4_1, unpack_values<O, RowQ4_1<O>>},
    {DType::Q5_0, unpack_values<O, RowQ5_0<O>>},     {DType::Q5_1, unpack_values<O, RowQ5_1<O>>},
    {DType::IQ4_NL, unpack_values<O, RowIQ4_NL<O>>},
};

// Kernels made of a Dot struct (dots-inl.h, dots_k-inl.h).
template <class O>
constexpr FormatKernel<MatmulFn> kMatmulQ8[] = {
    {DType::Q8_0, matmul_q8<O, DotQ8_0<O>>},     {DType::Q4_0, matmul_q8<O, DotQ4_0<O>>},
    {DType::Q4_1, matmul_q8<O, DotQ4_1<O>>},     {DType::Q5_0, matmul_q8<O, DotQ5_0<O>>},
    {DType::Q5_1, matmul_q8<O, DotQ5_1<O>>},     {DType::IQ4_NL, matmul_q8<O, DotIQ4_NL<O>>},
    {DType::MXFP4, matmul_q8<O, DotMXFP4<O>>},   {DType::Q2_K, matmul_q8<O, DotQ2_K<O>>},
    {DType::Q3_K, matmul_q8<O, DotQ3_K<O>>},     {DType::Q4_K, matmul_q8<O, DotQ4_K<O>>},
    {DType::Q5_K, matmul_q8<O, DotQ5_K<O>>},     {DType::Q6_K, matmul_q8<O, DotQ6_K<O>>},
    {DType::IQ4_XS, matmul_q8<O, DotIQ4_XS<O>>},
};

template <class O>
constexpr FormatKernel<MatmulFn> kMatmulQ8X8[] = {
    {DType::Q8_0, matmul_q8_x8<O, PackedQ8_0>},     {DType::Q4_0, matmul_q8_x8<O, PackedQ4_0>},
    {DType::Q4_1, matmul_q8_x8<O, PackedQ4_1>},     {DType::Q5_0, matmul_q8_x8<O, PackedQ5_0>},
    {DType::Q5_1, matmul_q8_x8<O, PackedQ5_1>},     {DType::IQ4_NL, matmul_q8_x8<O, PackedIQ4_NL>},
    {DType::MXFP4, matmul_q8_x8<O, PackedMXFP4>},   {DType::Q2_K, matmul_q8_x8<O, PackedQ2_K>},
    {DType::Q3_K, matmul_q8_x8<O, PackedQ3_K>},     {DType::Q4_K, matmul_q8_x8<O, PackedQ4_K>},
    {DType::Q5_K, matmul_q8_x8<O, PackedQ5_K>},     {DType::Q6_K, matmul_q8_x8<O, PackedQ6_K>},
    {DType::IQ4_XS, matmul_q8_x8<O, PackedIQ4_XS>}, {DType::NVFP4, matmul_q8_x8<O, PackedNVFP4>},
    {DType::TQ2_0, matmul_q8_x8<O, PackedTQ2_0>},
};

template <class O>
constexpr FormatKernel<MatmulFn> kMatmulQ8Codes[] = {
    {DType::IQ3_S, matmul_q8_codes<O, LookedUpIQ3_S>},
    {DType::IQ3_XXS, matmul_q8_codes<O, LookedUpIQ3_XXS>},
    {DType::IQ2_S, matmul_q8_codes<O, LookedUpIQ2_S>},
    {DType::IQ2_XS, matmul_q8_codes<O, LookedUpIQ2_XS>},
    {DType::IQ2_XXS, matmul_q8_codes<O, LookedUpIQ2_XXS>},
    {DType::IQ1_M, matmul_q8_codes<O, LookedUpIQ1_M>},
    {DType::IQ1_S, matmul_q8_codes<O, LookedUpIQ1_S>},
    {DType::TQ1_0, matmul_q8_codes<O, LookedUpTQ1_0>},
};

template <class O>
constexpr FormatKernel<SequenceFn> kSequenceQ8[] = {
    {DType::Q8_0, kSequenceOf<O, PackedQ8_0>},
    {DType::Q4_0, kSequenceOf<O, PackedQ4_0>},
    {DType::Q4_1, kSequenceOf<O, PackedQ4_1>},
    {DType::Q5_0, kSequenceOf<O, PackedQ5_0>},
    {DType::Q5_1, kSequenceOf<O, PackedQ5_1>},
    {DType::IQ4_NL, kSequenceOf<O, PackedIQ4_NL>},
    {DType::MXFP4, kSequenceOf<O, PackedMXFP4>},
    {DType::Q2_K, kSequenceOf<O, PackedQ2_K>},
    {DType::Q3_K, kSequenceOf<O, PackedQ3_K>},
    {DType::Q4_K, kSequenceOf<O, PackedQ4_K>},
    {DType::Q5_K, kSequenceOf<O, PackedQ5_K>},
    {DType::Q6_K, kSequenceOf<O, PackedQ6_K>},
    {DType::IQ4_XS, kSequenceOf<O, PackedIQ4_XS>},
    {DType::NVFP4, kSequenceOf<O, PackedNVFP4>},
    {DType::TQ2_0, kSequenceOf<O, PackedTQ2_0>},
    {DType::IQ3_S, kSequenceOfCodes<O, LookedUpIQ3_S>},
    {DType::IQ3_XXS, kSequenceOfCodes<O, LookedUpIQ3_XXS>},
    {DType::IQ2_S, kSequenceOfCodes<O, LookedUpIQ2_S>},
    {DType::IQ2_XS, kSequenceOfCodes<O, LookedUpIQ2_XS>},
    {DType::IQ2_XXS, kSequenceOfCodes<O, LookedUpIQ2_XXS>},
    {DType::IQ1_M, kSequenceOfCodes<O, LookedUpIQ1_M>},
    {DType::IQ1_S, kSequenceOfCodes<O, LookedUpIQ1_S>},
    {DType::TQ1_0, kSequenceOfCodes<O, LookedUpTQ1_0>},
};

// Every kernel, instantiated for one set of operations.
template <class O>
constexpr KernelTable make_table() {
    return {
        .quantise = quantise<O>,
        .matmul_f32 = per_format(kMatmulF32<O>),
        .matmul_floats = per_format(kMatmulFloats<O>),
        .matmul_q8 = per_format(kMatmulQ8<O>),
        .matmul_q8_x8 = per_format(kMatmulQ8X8<O>),
        .matmul_q8_codes = per_format(kMatmulQ8Codes<O>),
        .sequence_q8 = per_format(kSequenceQ8<O>),
        .sequence_f32 = sequence_f32<O>,
        .weighted_rows = per_format(kWeightedRows<O>),
        .attention_weights = attention_weights<O>,
        .unpack_keys = per_format(kUnpackKeys<O>),
        .attention_scores = attention_scores<O>,
        .unpack_values = per_format(kUnpackValues<O>),
        .attention_weigh = attention_weigh<O>,
        .max = max<O>,
        .exp_sum = exp_sum<O>,
        .scale = scale<O>,
        .clamp = clamp<O>,
        .soft_cap = soft_cap_row<O>,
        .add_ramp = add_ramp<O>,
        .sum_squares = sum_squares<O>,
        .scale_by = scale_by<O>,
        .rms_norm = rms_norm<O>,
        .layer_norm = layer_norm<O>,
        .add = add<O>,
        .larger = larger_row<O>,
        .smaller = smaller_row<O>,
        .silu = silu_row<O>,
        .gelu_tanh = gelu_tanh_row<O>,
        .gelu_erf = gelu_erf_row<O>,
        .sigmoid = sigmoid_row<O>,
        .silu_mul = silu_mul<O>,
        .gelu_tanh_mul = gelu_tanh_mul<O>,
        .gelu_erf_mul = gelu_erf_mul<O>,
        .sigmoid_mul = sigmoid_mul<O>,
        .clamped_swiglu = clamped_swiglu<O>,
    };
}

}  // namespace
}  // namespace plait::backends::cpu::simd
