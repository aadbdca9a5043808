#pragma once

#include <cstdint>

#include "plait/dtype/type.h"

// The CPU's kernels as plain function pointers, one table per instruction set. Plain C++ on purpose: the
// files that fill a table are compiled with flags other files must not see, so nothing here may emit code
// (simd/README.md).
//
// Law of bits: on one instruction set an output element depends on its own weight row and its own activation
// row, bit for bit, and on nothing else: not on `rows`, `tokens`, `queries`, on where a caller splits them,
// or on neighbours. Elementwise kernels may be split anywhere.
//
// For all kernels: pointers need the alignment of their element (blocks: 2 bytes); nothing outside the
// described ranges is read or written; counts may be 0 unless stated; outputs may not overlap inputs unless
// stated. They are pure functions, safe from any thread.
namespace plait::backends::cpu::simd {

// What turns signed bytes into unsigned ones.
inline constexpr int kCodeBias = 128;

// 32 activations as signed bytes: value[j] = q[j] * d. A row of k values is k / 32 consecutive blocks.
struct ActBlock {
    float d;
    // Sums of q, whole numbers, for weights with an offset or a minimum: of all 32, of the first and of the
    // second 16.
    float sum;
    float half_sums[2];
    // -kCodeBias times these sums: what products with codes + kCodeBias begin with.
    int32_t start;
    int32_t half_starts[2];
    int8_t q[32];
};
static_assert(sizeof(ActBlock) == 60);  // no power of two: tokens' rows begin in different sets of a cache

// Quantised activations. A block in which one value towers over the others leaves those few bits; it is
// refined: what rounding left of it is quantised once more, and a product adds both. value[j] =
// blocks[i].q[j]
// * blocks[i].d, and where refined[i] is 1, + residuals[i].q[j] * residuals[i].d. Residuals of other blocks
// are not written.
struct ActBlocks {
    ActBlock* blocks;
    uint8_t* refined;
    ActBlock* residuals;
};

// out[t * out_stride + r] = sum over i < k of weight[r][i] * activation[t][i], for r < rows, t < tokens.
struct MatmulArgs {
    const void* weights;        // of row 0
    int64_t row_bytes;          // from one row to the next (packed rows: of one row, without interleaving)
    const void* activations;    // of token 0: floats or ActBlocks, as the kernel says
    int64_t activation_bytes;   // from one token to the next
    const uint8_t* refined;     // of token 0, with ActBlocks: k / 32 for each token
    const ActBlock* residuals;  // likewise
    float* out;
    int64_t out_stride;  // floats from one token to the next
    int64_t rows;
    int64_t tokens;
    int64_t k;
    // Where token t is read from and written to, as its place among the tokens; nullptr: at t.
    const int32_t* read_at;
    const int32_t* write_at;
    // panel_bytes(k), 64-byte aligned, of the caller alone: for matmul_q8_codes; matmul_q8_x8 can do without
    // (nullptr).
    void* workspace;
};
using MatmulFn = void (*)(const MatmulArgs&);

// Multiplies and adds registers, as a product's inner loop does, in so many rounds; returns how many products
// were added. For measuring what a product could reach at best.
using SequenceFn = int64_t (*)(int64_t rounds);

// Rows that many tokens share are unpacked first, at most so many at a time, into a byte per code and
// up to 16 bytes of scales for 32 of them.
constexpr int64_t kPanelRows = 32;
constexpr int64_t panel_bytes(int64_t k) { return k / 32 * kPanelRows * (32 + 16); }

// out[q][j] += sum over i < rows of weights[q][i] * row[i][j], for j < width, q < queries. Rows are added one
// after the other in order, so that calls with consecutive rows give the same bits as one call. All queries
// share one pass over the rows.
struct WeightedRowsArgs {
    const void* rows_begin;
    int64_t row_bytes;
    const float* weights;
    int64_t weights_stride;  // floats from one query to the next
    float* out;
    int64_t out_stride;  // floats from one query to the next
    int64_t rows;
    int64_t queries;
    int64_t width;
};
using WeightedRowsFn = void (*)(const WeightedRowsArgs&);

// Attention of many queries to the same rows of a cache, in three steps: unpack keys, scores, then unpack
// values, weigh. Positions are cut into chunks of kKeyChunk; keys are unpacked kKeyBlock at a time, values
// kValueBlock.
inline constexpr int64_t kKeyChunk = 256;
inline constexpr int64_t kKeyBlock = 32;
inline constexpr int64_t kValueBlock = 64;

// Rows of a cache to floats. Keys: out[i * kKeyBlock + r] = row[r][i] for r < rows, so that `out` may point
// to any key of a block, and i < width rounded up to 8. Values: out[(i / 32 * kValueBlock + r) * 32 + i % 32]
// = row[r][i] for i < width rounded up to 32. Elements behind `width` are 0, or the surplus of a last block.
struct UnpackArgs {
    const void* rows_begin;
    int64_t row_bytes;
    float* out;
    int64_t rows;
    int64_t width;
};
using UnpackFn = void (*)(const UnpackArgs&);

// out[q * kKeyChunk + r] = sum over i < k of queries[i * query_stride + q] * keys[i * kKeyBlock + r], for all
// r < kKeyBlock, k a multiple of 8: the bits of matmul_f32.
struct ScoresArgs {
    const float* keys;
    const float* queries;
    int64_t query_stride;
    float* out;
    int64_t rows;  // queries
    int64_t k;
};

struct RowRange {
    int32_t begin;
    int32_t end;
};

// out[q * out_stride + j] += sum over i in ranges[q] of weights[q * kKeyChunk + i] * value[i][j], for j <
// width, a multiple of 32, one after the other in order: the bits of weighted_rows. Ranges lie within
// [0, kValueBlock) and may be empty; nothing outside of its range touches a query.
struct WeighArgs {
    const float* values;
    const float* weights;
    const RowRange* ranges;
    float* out;
    int64_t out_stride;
    int64_t rows;  // queries
    int64_t width;
};

// `bias` is for layer_norm only, and may be absent (nullptr) there. `out` may be `x`. n > 0.
struct NormArgs {
    const float* x;
    const float* weight;
    const float* bias;
    float* out;
    int64_t n;
    float epsilon;
};
using NormFn = void (*)(const NormArgs&);

using UnaryFn = void (*)(const float* x, float* out, int64_t n);                   // `out` may be `x`
using BinaryFn = void (*)(const float* a, const float* b, float* out, int64_t n);  // `out` may be `a` or `b`

// A kernel that exists once per format, indexed by dtype::DType; nullptr where a format has none.
template <class Fn>
struct PerFormat {
    Fn of[dtype::kTypeCount];
};

struct KernelTable {
    // Quantises k values (a multiple of 32) to k / 32 blocks: d = amax / 127, q = x / d rounded to nearest
    // even. A block whose amax / 127 is not a normal number holds zeros. A block with a NaN or an infinity
    // gets d = NaN (q and sum 0), so that whatever reads it is NaN, as it would be in F32. Blocks whose
    // largest value is more than sqrt(22) times their root mean square are refined. The same bits on every
    // instruction set.
    void (*quantise)(const float* x, const ActBlocks& out, int64_t k);

    // F32 activations with weights in GGUF's row layout: the exact path of block formats, and attention
    // scores (rows = keys, tokens = queries that share them). Block formats are decoded in registers to the
    // very values dtype's decoders give. k is any positive number; a row of a block format holds k rounded up
    // to whole blocks, of which the surplus is ignored as long as it decodes to finite values.
    PerFormat<MatmulFn> matmul_f32;

    // F32 activations with weights of an element format in GGUF's row layout: matmul_f32 with another order
    // of additions, for many tokens and for weights that come from memory. May ask the memory for what lies
    // behind the rows.
    PerFormat<MatmulFn> matmul_floats;

    // ActBlock activations with weights in GGUF's row layout. k is a multiple of 32.
    PerFormat<MatmulFn> matmul_q8;

    // ActBlock activations with weights packed by pack_x8.h. The same numbers as matmul_q8 to float rounding
    // (the order of additions differs), and several times faster. `weights` points to a pair of groups
    // (kPackedRows); `rows` may stop inside. A workspace changes no bit; without one many tokens take longer.
    PerFormat<MatmulFn> matmul_q8_x8;

    // The same with weights in GGUF's row layout, in formats whose values have to be looked up. Needs the
    // workspace.
    PerFormat<MatmulFn> matmul_q8_codes;

    // The instructions that matmul_q8_x8 and matmul_q8_codes multiply with where they have several tokens,
    // and those for floats.
    PerFormat<SequenceFn> sequence_q8;
    SequenceFn sequence_f32;

    // Attention values (weights = probabilities) and mixtures of experts. `width` as k of matmul_f32.
    PerFormat<WeightedRowsFn> weighted_rows;

    // Scores of one query become weights: x[i] = exp(x[i] - largest) in place for i in [begin, end), not
    // empty and within a chunk (kKeyChunk floats). Returns the largest, and in *sum the sum of the weights,
    // added in an order that depends on begin and end only. NaN and infinities as max and exp_sum have them.
    // Other places of the chunk may be overwritten.
    float (*attention_weights)(float* scores, int64_t begin, int64_t end, float* sum);

    // The four parts of attention with many queries.
    PerFormat<UnpackFn> unpack_keys;
    void (*attention_scores)(const ScoresArgs&);
    PerFormat<UnpackFn> unpack_values;
    void (*attention_weigh)(const WeighArgs&);

    // Largest of n values, n > 0; a NaN is passed over (the exp_sum that follows becomes NaN).
    float (*max)(const float* x, int64_t n);
    // x[i] = exp(x[i] - shift) in place (2 ulp; -inf gives 0); returns their sum, added in an order that
    // depends on n only. A shift of -inf, the maximum of an empty or fully masked row, gives zeros.
    float (*exp_sum)(float* x, int64_t n, float shift);
    void (*scale)(const float* x, float* out, int64_t n, float factor);  // x * factor; `out` may be `x`
    void (*clamp)(const float* x, float* out, int64_t n, float limit);   // to [-limit, limit]; NaN stays
    // out[i] = cap * tanh(x[i] / cap), to 3e-7 * cap. `out` may be `x`. cap > 0.
    void (*soft_cap)(const float* x, float* out, int64_t n, float cap);
    // x[i] += slope * (start + i) in place, for whole numbers below 2^24.
    void (*add_ramp)(float* x, int64_t n, float start, float slope);

    // Sum of x[i]^2, added in an order that depends on n only. n > 0.
    float (*sum_squares)(const float* x, int64_t n);
    // x * factor * weight; `out` may be `x`. With sum_squares, the bits of rms_norm.
    void (*scale_by)(const float* x, const float* weight, float* out, int64_t n, float factor);
    NormFn rms_norm;    // out = x / sqrt(mean(x^2) + epsilon) * weight
    NormFn layer_norm;  // out = (x - mean) / sqrt(mean((x - mean)^2) + epsilon) * weight + bias

    BinaryFn add;
    // The same bits with a and b exchanged. A NaN in either makes a NaN; -0 lies below +0.
    BinaryFn larger;
    BinaryFn smaller;
    UnaryFn silu;            // x / (1 + exp(-x))
    UnaryFn gelu_tanh;       // x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
    UnaryFn gelu_erf;        // x / 2 * (1 + erf(x / sqrt(2)))
    UnaryFn sigmoid;         // 1 / (1 + exp(-x))
    BinaryFn silu_mul;       // silu(a) * b
    BinaryFn gelu_tanh_mul;  // gelu_tanh(a) * b
    BinaryFn gelu_erf_mul;   // gelu_erf(a) * b
    BinaryFn sigmoid_mul;    // sigmoid(a) * b
    // g / (1 + exp(-alpha * g)) * (u + 1), g = min(gate, limit), u = up within +-limit. `out` may be an
    // input.
    void (*clamped_swiglu)(const float* gate, const float* up, float* out, int64_t n, float limit,
                           float alpha);
};

}  // namespace plait::backends::cpu::simd
