#include <algorithm>

#include "plait/backends/cpu/kernel.h"
#include "plait/backends/cpu/kernels/by_format.h"
#include "plait/backends/cpu/packing.h"
#include "plait/backends/cpu/simd/pack_x8.h"

// Matrix products. An item is a block of output features times a block of rows of the activation; the SIMD
// kernels give each element the same bits whatever the blocks.
namespace plait::backends::cpu {
namespace {

using simd::MatmulArgs;
using simd::MatmulFn;

// Small enough that a decode step of a small model has several items per worker, and that 32 weight rows and
// 64 quantised activation rows share the second-level cache.
constexpr int64_t kRowBlock = 32;
constexpr int64_t kTokenBlock = 64;
static_assert(kRowBlock % simd::kPackedRows == 0);

int64_t blocks(int64_t extent, int64_t block) { return (extent + block - 1) / block; }

// Which SIMD kernel multiplies with a weight format: one function per way of storing weights and activations.
MatmulFn f32_function(const simd::KernelTable& simd, ir::DType type) {
    return by_format(simd.matmul_f32, type);
}

MatmulFn q8_function(const simd::KernelTable& simd, ir::DType type) {
    return by_block_format(simd.matmul_q8, type);
}

MatmulFn packed_function(const simd::KernelTable& simd, ir::DType type) {
    return by_block_format(simd.matmul_q8_x8, type);
}

// How the operands of one kernel row lie.
struct F32Rows {
    static constexpr MatmulFn (*function)(const simd::KernelTable&, ir::DType) = f32_function;
    // Fills in where the activations from row `row` on lie.
    static void set_activations(const KernelCall& call, int64_t row, MatmulArgs& args) {
        args.activation_bytes = args.k * static_cast<int64_t>(sizeof(float));
        args.activations = call.in(0).data + row * args.activation_bytes;
    }
    static int64_t matrix_bytes(const ir::TensorDesc& weight) {
        return matrix_rows(weight) * weight.row_bytes();
    }
};

struct Q8Rows : F32Rows {
    static constexpr MatmulFn (*function)(const simd::KernelTable&, ir::DType) = q8_function;
    static void set_activations(const KernelCall& call, int64_t row, MatmulArgs& args) {
        const simd::ActBlocks x = quantised_from(call.quantised, row * args.k);
        args.activation_bytes = args.k / kQuantisedBlock * static_cast<int64_t>(sizeof(simd::ActBlock));
        args.activations = x.blocks;
        args.refined = x.refined;
        args.residuals = x.residuals;
    }
};

struct Q8Packed : Q8Rows {
    static constexpr MatmulFn (*function)(const simd::KernelTable&, ir::DType) = packed_function;
    static int64_t matrix_bytes(const ir::TensorDesc& weight) { return packed_matrix_bytes(weight); }
};

int64_t matmul_items(const KernelCall& call) {
    const int64_t tokens = call.operands.rows(call.in(0));
    return blocks(tokens, kTokenBlock) * blocks(matrix_rows(call.in(1).desc), kRowBlock);
}

// Token blocks are the outer count: neighbours in time share weights' rows only in the last cache, but
// activations stay.
template <class Layout>
void run_matmul(const KernelCall& call, int64_t item, std::byte* /*workspace*/) {
    const ir::TensorDesc& weight = call.in(1).desc;
    const int64_t rows = matrix_rows(weight);
    const int64_t row_blocks = blocks(rows, kRowBlock);
    const int64_t row = item % row_blocks * kRowBlock;
    const int64_t token = item / row_blocks * kTokenBlock;
    const int64_t tokens = call.operands.rows(call.in(0));
    MatmulArgs args{
        .weights = call.in(1).data + row * weight.row_bytes(),
        .row_bytes = weight.row_bytes(),
        .out = call.out().as<float>() + token * rows + row,
        .out_stride = rows,
        .rows = std::min(kRowBlock, rows - row),
        .tokens = std::min(kTokenBlock, tokens - token),
        .k = weight.shape.last(),
    };
    Layout::set_activations(call, token, args);
    Layout::function(*call.simd, weight.type)(args);
}

int64_t expert_items(const KernelCall& call) {
    const int64_t used = call.in(2).desc.shape[1];
    return call.operands.rows(call.in(2)) * used * blocks(matrix_rows(call.in(1).desc), kRowBlock);
}

// An item is a block of one chosen expert's output features for one token.
template <class Layout>
void run_experts(const KernelCall& call, int64_t item, std::byte* /*workspace*/) {
    const ir::TensorDesc& weight = call.in(1).desc;
    const int64_t rows = matrix_rows(weight);
    const int64_t row_blocks = blocks(rows, kRowBlock);
    const int64_t row = item % row_blocks * kRowBlock;
    const int64_t slot = item / row_blocks;  // token * used + which
    const int64_t used = call.in(2).desc.shape[1];
    const int64_t input_row = call.in(0).desc.shape.rank() == 3 ? slot : slot / used;
    const int64_t expert = call.in(2).as<int32_t>()[slot];
    MatmulArgs args{
        .weights = call.in(1).data + expert * Layout::matrix_bytes(weight) + row * weight.row_bytes(),
        .row_bytes = weight.row_bytes(),
        .out = call.out().as<float>() + slot * rows + row,
        .out_stride = rows,
        .rows = std::min(kRowBlock, rows - row),
        .tokens = 1,
        .k = weight.shape.last(),
    };
    Layout::set_activations(call, input_row, args);
    Layout::function(*call.simd, weight.type)(args);
}

int64_t quantise_items(const KernelCall& call) {
    const ir::TensorDesc& desc = call.in(0).desc;
    return call.operands.rows(call.in(0)) * (desc.row_count() / std::max<int64_t>(1, desc.shape[0]));
}

void run_quantise(const KernelCall& call, int64_t item, std::byte* /*workspace*/) {
    const int64_t n = call.in(0).desc.shape.last();
    call.simd->quantise(call.in(0).as<float>() + item * n, quantised_from(call.quantised, item * n), n);
}

template <class Layout>
void add_pair(device::FormatSet formats, const char* layout, int64_t multiple, ActivationFormat activation,
              std::vector<Kernel>& list) {
    const auto row = [&](ir::OpId op) {
        return device::SupportRow{
            .op = op, .weight_formats = formats, .weight_layout = layout, .weight_multiple = multiple};
    };
    list.push_back({row(ir::op_id_of<ir::Matmul>()), activation, matmul_items, run_matmul<Layout>});
    list.push_back({row(ir::op_id_of<ir::MatmulExperts>()), activation, expert_items, run_experts<Layout>});
}

}  // namespace

void add_matmul_kernels(const KernelChoice& choice, std::vector<Kernel>& list) {
    using ir::DType;
    constexpr auto kBlocks = device::formats(DType::Q8_0, DType::Q4_0, DType::Q4_1);
    constexpr auto kElements = device::formats(DType::F32, DType::F16, DType::BF16);
    if (choice.exact) {
        add_pair<F32Rows>(kBlocks | kElements, device::kRowLayout, 1, ActivationFormat::f32, list);
        return;
    }
    if (choice.packed) add_pair<Q8Packed>(kBlocks, kPackedLayout, 32, ActivationFormat::q8, list);
    add_pair<Q8Rows>(kBlocks, device::kRowLayout, 32, ActivationFormat::q8, list);
    add_pair<F32Rows>(kElements, device::kRowLayout, 1, ActivationFormat::f32, list);
}

const Kernel& quantise_kernel() {
    static const Kernel kernel{{}, ActivationFormat::f32, quantise_items, run_quantise};
    return kernel;
}

// The marks come last, since blocks must be aligned.
int64_t quantised_bytes(int64_t n) {
    return n / kQuantisedBlock * static_cast<int64_t>(2 * sizeof(simd::ActBlock) + 1);
}

simd::ActBlocks quantised_at(std::byte* bytes, int64_t n) {
    const int64_t blocks = n / kQuantisedBlock;
    auto* first = reinterpret_cast<simd::ActBlock*>(bytes);
    return {first, reinterpret_cast<uint8_t*>(first + 2 * blocks), first + blocks};
}

simd::ActBlocks quantised_from(const simd::ActBlocks& all, int64_t begin) {
    const int64_t block = begin / kQuantisedBlock;
    return {all.blocks + block, all.refined + block, all.residuals + block};
}

}  // namespace plait::backends::cpu
