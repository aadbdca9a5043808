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

// Small enough that a decode step of a small model has several items per worker. Many tokens share what is
// unpacked of 32 weight rows; their activations pass by once for all of them, also from the last cache.
constexpr int64_t kRowBlock = 32;
constexpr int64_t kTokenBlock = kRowsPerItem;
static_assert(kRowBlock % simd::kPackedRows == 0 && kRowBlock % kQuantisedBlock == 0);
// Of an expert's rows, when its tokens have to be looked for first.
constexpr int64_t kExpertRowBlock = 128;

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
    static int64_t workspace_bytes(const ir::Op&, std::span<const ir::TensorDesc>) { return 0; }
};

struct FloatRows : F32Rows {
    static void multiply(const KernelCall& call, const MatmulArgs& args, std::byte* /*workspace*/) {
        by_format(call.simd->matmul_floats, call.in(1).desc.type)(args);
    }
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

// With a panel in the workspace.
template <simd::PerFormat<simd::MatmulFn> simd::KernelTable::*Product>
struct Q8Panels : Q8Rows {
    static void multiply(const KernelCall& call, const MatmulArgs& args, std::byte* workspace) {
        MatmulArgs with_workspace = args;
        with_workspace.workspace = workspace;
        by_format(call.simd->*Product, call.in(1).desc.type)(with_workspace);
    }
    static int64_t workspace_bytes(const ir::Op&, std::span<const ir::TensorDesc> inputs) {
        return simd::panel_bytes(inputs[1].shape.last());
    }
};

// Rows in formats whose values have to be looked up.
using Q8Codes = Q8Panels<&simd::KernelTable::matmul_q8_codes>;

struct Q8Packed : Q8Panels<&simd::KernelTable::matmul_q8_x8> {
    static int64_t matrix_bytes(const ir::TensorDesc& weight) { return packed_matrix_bytes(weight); }
};

// For every format there is: a few weight rows at a time become floats, which all tokens of the item then
// share.
struct DecodedRows : F32Rows {
    static constexpr int64_t kAtOnce = 16;

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
            by_format(call.simd->matmul_floats, ir::DType::F32)(part);
        }
    }
    static int64_t workspace_bytes(const ir::Op& /*op*/, std::span<const ir::TensorDesc> inputs) {
        return kAtOnce * inputs[1].shape.last() * static_cast<int64_t>(sizeof(float));
    }
};

int64_t matmul_items(const KernelCall& call) {
    const int64_t tokens = call.operands.rows(call.in(0));
    return ceil_div(tokens, kTokenBlock) * ceil_div(matrix_rows(call.in(1).desc), kRowBlock);
}

// Token blocks are the outer count: neighbours in time share weights' rows only in the last cache, but
// activations stay.
template <class Layout>
void run_matmul(const KernelCall& call, int64_t item, std::byte* workspace) {
    const ir::TensorDesc& weight = call.in(1).desc;
    const int64_t rows = matrix_rows(weight);
    const int64_t row_blocks = ceil_div(rows, kRowBlock);
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
    call.finish_rows(token, args.tokens, row, args.rows);
}

// Products with the experts that a step's tokens chose.
struct Experts {
    const KernelCall& call;
    const ir::TensorDesc& weight = call.in(1).desc;
    const int64_t rows = matrix_rows(weight);
    const int64_t used = call.in(2).desc.shape[1];
    const int64_t slots = call.operands.rows(call.in(2)) * used;  // token * used + which
    const int64_t here = weight.shape[0];

    // The expert's place among those here, or -1.
    int64_t expert_of(int64_t slot) const {
        return ir::place_among(call.in(2).as<int32_t>()[slot], call.as<ir::MatmulExperts>().first_expert,
                               here);
    }
    // The row of the activation that a slot reads.
    int64_t input_row(int64_t slot) const { return call.in(0).desc.shape.rank() == 3 ? slot : slot / used; }
    float* output(int64_t slot, int64_t row) const { return call.out().as<float>() + slot * rows + row; }

    template <class Layout>
    MatmulArgs args(int64_t expert, int64_t row, int64_t most_rows) const {
        MatmulArgs args{
            .weights = call.in(1).data + expert * Layout::matrix_bytes(weight) + row * weight.row_bytes(),
            .row_bytes = weight.row_bytes(),
            .out_stride = rows,
            .rows = std::min(most_rows, rows - row),
            .k = weight.shape.last(),
        };
        return args;
    }
};

// A single token's experts are read row block by row block; of several tokens, those of an expert are put
// together, and what belongs to no expert here comes last.
bool by_slot(const Experts& experts) { return experts.slots == experts.used; }

int64_t expert_items(const KernelCall& call) {
    const Experts experts{call};
    if (by_slot(experts)) return experts.slots * ceil_div(experts.rows, kRowBlock);
    return (experts.here + 1) * ceil_div(experts.rows, kExpertRowBlock);
}

template <class Layout>
void run_slot(const Experts& experts, int64_t item, std::byte* workspace) {
    const int64_t row_blocks = ceil_div(experts.rows, kRowBlock);
    const int64_t row = item % row_blocks * kRowBlock;
    const int64_t slot = item / row_blocks;
    const int64_t expert = experts.expert_of(slot);
    if (expert < 0) {
        std::fill_n(experts.output(slot, row), std::min(kRowBlock, experts.rows - row), 0.0f);
        return;
    }
    MatmulArgs args = experts.args<Layout>(expert, row, kRowBlock);
    args.out = experts.output(slot, row);
    args.tokens = 1;
    Layout::set_activations(experts.call, experts.input_row(slot), args);
    Layout::multiply(experts.call, args, workspace);
}

// Bytes of the list of places, in front of the layout's own workspace.
int64_t places_bytes(int64_t slots) { return (2 * slots * int64_t{sizeof(int32_t)} + 63) / 64 * 64; }

template <class Layout>
void run_expert(const Experts& experts, int64_t item, std::byte* workspace) {
    const int64_t row_blocks = ceil_div(experts.rows, kExpertRowBlock);
    const int64_t row = item % row_blocks * kExpertRowBlock;
    const int64_t expert = item / row_blocks;
    const bool nobodys = expert == experts.here;
    const int64_t rows = std::min(kExpertRowBlock, experts.rows - row);
    auto* read_at = reinterpret_cast<int32_t*>(workspace);
    int32_t* write_at = read_at + experts.slots;
    int64_t count = 0;
    for (int64_t slot = 0; slot < experts.slots; ++slot) {
        if (experts.expert_of(slot) != (nobodys ? -1 : expert)) continue;
        if (nobodys) {
            std::fill_n(experts.output(slot, row), rows, 0.0f);
            continue;
        }
        read_at[count] = static_cast<int32_t>(experts.input_row(slot));
        write_at[count++] = static_cast<int32_t>(slot);
    }
    if (count == 0) return;
    MatmulArgs args = experts.args<Layout>(expert, row, kExpertRowBlock);
    args.out = experts.output(0, row);
    args.tokens = count;
    args.read_at = read_at;
    args.write_at = write_at;
    Layout::set_activations(experts.call, 0, args);
    Layout::multiply(experts.call, args, workspace + places_bytes(experts.slots));
}

template <class Layout>
void run_experts(const KernelCall& call, int64_t item, std::byte* workspace) {
    const Experts experts{call};
    if (by_slot(experts))
        run_slot<Layout>(experts, item, workspace);
    else
        run_expert<Layout>(experts, item, workspace);
}

template <class Layout>
int64_t experts_workspace(const ir::Op& op, std::span<const ir::TensorDesc> inputs) {
    return places_bytes(inputs[2].shape.elements()) + Layout::workspace_bytes(op, inputs);
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
    list.push_back({.support = row(ir::op_id_of<ir::Matmul>()),
                    .activation = activation,
                    .items = matmul_items,
                    .run = run_matmul<Layout>,
                    .workspace_bytes = Layout::workspace_bytes,
                    .finishes = true,
                    .can_lead = true});
    list.push_back({row(ir::op_id_of<ir::MatmulExperts>()), activation, expert_items, run_experts<Layout>,
                    experts_workspace<Layout>});
}

}  // namespace

void add_matmul_kernels(const KernelChoice& choice, std::vector<Kernel>& list) {
    const simd::KernelTable& simd = *choice.simd;
    if (choice.packed)
        add_pair<Q8Packed>(formats_of(simd.matmul_q8_x8), kPackedLayout, 32, ActivationFormat::q8, list);
    if (!choice.exact) {
        add_pair<Q8Rows>(formats_of(simd.matmul_q8), device::kRowLayout, 32, ActivationFormat::q8, list);
        add_pair<Q8Codes>(formats_of(simd.matmul_q8_codes), device::kRowLayout, 32, ActivationFormat::q8,
                          list);
    }
    add_pair<FloatRows>(formats_of(simd.matmul_floats), device::kRowLayout, 1, ActivationFormat::f32, list);
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
