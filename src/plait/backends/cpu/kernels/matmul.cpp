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

// Small enough that a decode step of a small model has several items per worker, and that 32 weight rows and
// 64 quantised activation rows share the second-level cache.
constexpr int64_t kRowBlock = 32;
constexpr int64_t kTokenBlock = 64;
static_assert(kRowBlock % simd::kPackedRows == 0);

int64_t blocks(int64_t extent, int64_t block) { return (extent + block - 1) / block; }

// How the operands of one kernel row lie, and which SIMD kernel multiplies them.
struct F32Rows {
    // Fills in where the activations from row `row` on lie.
    static void set_activations(const KernelCall& call, int64_t row, MatmulArgs& args) {
        args.activation_bytes = args.k * static_cast<int64_t>(sizeof(float));
        args.activations = call.in(0).data + row * args.activation_bytes;
    }
    static int64_t matrix_bytes(const ir::TensorDesc& weight) {
        return matrix_rows(weight) * weight.row_bytes();
    }
    static void multiply(const KernelCall& call, const MatmulArgs& args, std::byte* /*workspace*/) {
        by_format(call.simd->matmul_f32, call.in(1).desc.type)(args);
    }
    static constexpr int64_t (*workspace_bytes)(const ir::Op&, std::span<const ir::TensorDesc>) = nullptr;
};

struct Q8Rows : F32Rows {
    static void set_activations(const KernelCall& call, int64_t row, MatmulArgs& args) {
        const simd::ActBlocks x = quantised_from(call.quantised, row * args.k);
        args.activation_bytes = args.k / kQuantisedBlock * static_cast<int64_t>(sizeof(simd::ActBlock));
        args.activations = x.blocks;
        args.refined = x.refined;
        args.residuals = x.residuals;
    }
    static void multiply(const KernelCall& call, const MatmulArgs& args, std::byte* /*workspace*/) {
        by_format(call.simd->matmul_q8, call.in(1).desc.type)(args);
    }
};

struct Q8Packed : Q8Rows {
    static int64_t matrix_bytes(const ir::TensorDesc& weight) { return packed_matrix_bytes(weight); }
    static void multiply(const KernelCall& call, const MatmulArgs& args, std::byte* workspace) {
        MatmulArgs with_workspace = args;
        with_workspace.workspace = workspace;
        by_format(call.simd->matmul_q8_x8, call.in(1).desc.type)(with_workspace);
    }
    static int64_t workspace_bytes(const ir::Op&, std::span<const ir::TensorDesc> inputs) {
        return simd::panel_bytes(inputs[1].shape.last());
    }
};

// For every format there is: a few weight rows at a time become floats, which all tokens of the item then
// share.
struct DecodedRows : F32Rows {
    // As many as the widest tile of matmul_f32 takes.
    static constexpr int64_t kAtOnce = 4;

    static void multiply(const KernelCall& call, const MatmulArgs& args, std::byte* workspace) {
        const dtype::DTypeInfo& format = dtype::info(call.in(1).desc.type);
        auto* decoded = reinterpret_cast<float*>(workspace);
        for (int64_t row = 0; row < args.rows; row += kAtOnce) {
            const auto* weights = static_cast<const std::byte*>(args.weights) + row * args.row_bytes;
            MatmulArgs part = args;
            part.weights = decoded;
            part.row_bytes = args.activation_bytes;  // both are k floats
            part.out = args.out + row;
            part.rows = std::min(kAtOnce, args.rows - row);
            for (int64_t r = 0; r < part.rows; ++r)
                format.decode(weights + r * args.row_bytes, decoded + r * args.k, args.k);
            by_format(call.simd->matmul_f32, ir::DType::F32)(part);
        }
    }
    static int64_t workspace_bytes(const ir::Op& /*op*/, std::span<const ir::TensorDesc> inputs) {
        return kAtOnce * inputs[1].shape.last() * static_cast<int64_t>(sizeof(float));
    }
};

int64_t matmul_items(const KernelCall& call) {
    const int64_t tokens = call.operands.rows(call.in(0));
    return blocks(tokens, kTokenBlock) * blocks(matrix_rows(call.in(1).desc), kRowBlock);
}

// Token blocks are the outer count: neighbours in time share weights' rows only in the last cache, but
// activations stay.
template <class Layout>
void run_matmul(const KernelCall& call, int64_t item, std::byte* workspace) {
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
    Layout::multiply(call, args, workspace);
}

int64_t expert_items(const KernelCall& call) {
    const int64_t used = call.in(2).desc.shape[1];
    return call.operands.rows(call.in(2)) * used * blocks(matrix_rows(call.in(1).desc), kRowBlock);
}

// An item is a block of one chosen expert's output features for one token.
template <class Layout>
void run_experts(const KernelCall& call, int64_t item, std::byte* workspace) {
    const ir::TensorDesc& weight = call.in(1).desc;
    const int64_t rows = matrix_rows(weight);
    const int64_t row_blocks = blocks(rows, kRowBlock);
    const int64_t row = item % row_blocks * kRowBlock;
    const int64_t slot = item / row_blocks;  // token * used + which
    const int64_t used = call.in(2).desc.shape[1];
    const int64_t input_row = call.in(0).desc.shape.rank() == 3 ? slot : slot / used;
    const int64_t expert = ir::place_among(call.in(2).as<int32_t>()[slot],
                                           call.as<ir::MatmulExperts>().first_expert, weight.shape[0]);
    MatmulArgs args{
        .weights = call.in(1).data + expert * Layout::matrix_bytes(weight) + row * weight.row_bytes(),
        .row_bytes = weight.row_bytes(),
        .out = call.out().as<float>() + slot * rows + row,
        .out_stride = rows,
        .rows = std::min(kRowBlock, rows - row),
        .tokens = 1,
        .k = weight.shape.last(),
    };
    if (expert < 0) {
        std::fill_n(args.out, args.rows, 0.0f);
        return;
    }
    Layout::set_activations(call, input_row, args);
    Layout::multiply(call, args, workspace);
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
    list.push_back({row(ir::op_id_of<ir::Matmul>()), activation, matmul_items, run_matmul<Layout>,
                    Layout::workspace_bytes});
    list.push_back({row(ir::op_id_of<ir::MatmulExperts>()), activation, expert_items, run_experts<Layout>,
                    Layout::workspace_bytes});
}

}  // namespace

void add_matmul_kernels(const KernelChoice& choice, std::vector<Kernel>& list) {
    const simd::KernelTable& simd = *choice.simd;
    if (choice.packed)
        add_pair<Q8Packed>(formats_of(simd.matmul_q8_x8), kPackedLayout, 32, ActivationFormat::q8, list);
    if (!choice.exact)
        add_pair<Q8Rows>(formats_of(simd.matmul_q8), device::kRowLayout, 32, ActivationFormat::q8, list);
    add_pair<F32Rows>(formats_of(simd.matmul_f32), device::kRowLayout, 1, ActivationFormat::f32, list);
    add_pair<DecodedRows>(device::weight_formats(), device::kRowLayout, 1, ActivationFormat::f32, list);
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
