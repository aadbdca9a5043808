#include "plait/backends/cpu/kernels/rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "plait/backends/cpu/kernels/by_format.h"
#include "plait/backends/cpu/packing.h"
#include "plait/base/ensure.h"

// Ops that go row by row: an item is one row. Ops with nothing to gain from more than one thread run their
// reference.
namespace plait::backends::cpu {
namespace {

// Innermost rows of an operand that this step has.
int64_t row_items(const KernelCall& call) {
    const ir::TensorDesc& desc = call.in(0).desc;
    return call.operands.rows(call.in(0)) * (desc.row_count() / std::max<int64_t>(1, desc.shape[0]));
}

// The same of the output.
int64_t output_row_items(const KernelCall& call) { return call.operands.inner_rows(call.out()); }

// Indices of the output's outermost axis.
int64_t output_items(const KernelCall& call) { return call.operands.rows(call.out()); }

const float* in_row(const KernelCall& call, size_t input, int64_t row) {
    return call.in(input).as<float>() + row * row_width(call.in(input));
}

float* out_row(const KernelCall& call, int64_t row) {
    return call.out().as<float>() + row * row_width(call.out());
}

// A norm's parameter for a row of x: one for all rows, or heads take turns.
const float* parameter_row(const KernelCall& call, size_t input, int64_t row) {
    return in_row(call, input, row % call.in(input).desc.row_count());
}

template <class Norm>
void run_norm(const KernelCall& call, int64_t item, std::byte* /*workspace*/) {
    constexpr bool kLayer = std::is_same_v<Norm, ir::LayerNorm>;
    const simd::NormArgs args{
        .x = in_row(call, 0, item),
        .weight = parameter_row(call, 1, item),
        .bias = kLayer && call.operands.inputs.size() == 3 ? parameter_row(call, 2, item) : nullptr,
        .out = out_row(call, item),
        .n = row_width(call.in(0)),
        .epsilon = call.as<Norm>().epsilon};
    (kLayer ? call.simd->layer_norm : call.simd->rms_norm)(args);
}

// --- stretches of values

const float* values_of(const KernelCall& call, size_t input, int64_t begin) {
    return call.in(input).as<float>() + begin;
}
float* values_of_output(const KernelCall& call, int64_t begin) { return call.out().as<float>() + begin; }

void add_values(const KernelCall& call, int64_t begin, int64_t count) {
    const bool per_row = call.in(1).desc.shape.rank() == call.in(0).desc.shape.rank();
    call.simd->add(values_of(call, 0, begin),
                   values_of(call, 1, per_row ? begin : begin % row_width(call.in(0))),
                   values_of_output(call, begin), count);
}

void scale_values(const KernelCall& call, int64_t begin, int64_t count) {
    call.simd->scale(values_of(call, 0, begin), values_of_output(call, begin), count,
                     call.as<ir::Scale>().factor);
}

void run_add(const KernelCall& call, int64_t item, std::byte* /*workspace*/) {
    const bool per_row = call.in(1).desc.shape.rank() == call.in(0).desc.shape.rank();
    call.simd->add(in_row(call, 0, item), in_row(call, 1, per_row ? item : 0), out_row(call, item),
                   row_width(call.in(0)));
}

void run_combine(const KernelCall& call, int64_t item, std::byte* /*workspace*/) {
    combine_function(*call.simd, call.as<ir::Combine>().reduction)(
        in_row(call, 0, item), in_row(call, 1, item), out_row(call, item), row_width(call.in(0)));
}

void run_sum_squares(const KernelCall& call, int64_t item, std::byte* /*workspace*/) {
    *out_row(call, item) = call.simd->sum_squares(in_row(call, 0, item), row_width(call.in(0)));
}

// As rms_norm rounds: over one part that is the whole, both give the same bits.
void run_rms_scale(const KernelCall& call, int64_t item, std::byte* /*workspace*/) {
    const auto& op = call.as<ir::RmsScale>();
    const float mean = *in_row(call, 1, item) / static_cast<float>(op.whole);
    call.simd->scale_by(in_row(call, 0, item), in_row(call, 2, 0), out_row(call, item), row_width(call.in(0)),
                        1.0f / std::sqrt(mean + op.epsilon));
}

void run_scale(const KernelCall& call, int64_t item, std::byte* /*workspace*/) {
    call.simd->scale(in_row(call, 0, item), out_row(call, item), row_width(call.in(0)),
                     call.as<ir::Scale>().factor);
}

void run_soft_cap(const KernelCall& call, int64_t item, std::byte* /*workspace*/) {
    call.simd->soft_cap(in_row(call, 0, item), out_row(call, item), row_width(call.in(0)),
                        call.as<ir::SoftCap>().cap);
}

void run_clamped_swiglu(const KernelCall& call, int64_t item, std::byte* /*workspace*/) {
    const auto& op = call.as<ir::ClampedSwiglu>();
    call.simd->clamped_swiglu(in_row(call, 0, item), in_row(call, 1, item), out_row(call, item),
                              row_width(call.in(0)), op.limit, op.alpha);
}

void run_add_expert_bias(const KernelCall& call, int64_t item, std::byte* /*workspace*/) {
    const int64_t expert = ir::place_among(
        call.in(2).as<int32_t>()[item], call.as<ir::AddExpertBias>().first_expert, call.in(1).desc.shape[0]);
    if (expert < 0) {
        std::copy_n(in_row(call, 0, item), row_width(call.in(0)), out_row(call, item));
    } else {
        call.simd->add(in_row(call, 0, item), in_row(call, 1, expert), out_row(call, item),
                       row_width(call.in(0)));
    }
}

void run_clamp(const KernelCall& call, int64_t item, std::byte* /*workspace*/) {
    call.simd->clamp(in_row(call, 0, item), out_row(call, item), row_width(call.in(0)),
                     call.as<ir::Clamp>().limit);
}

simd::UnaryFn activation_function(const simd::KernelTable& simd, ir::Activation activation) {
    switch (activation) {
        case ir::Activation::silu:
            return simd.silu;
        case ir::Activation::gelu_tanh:
            return simd.gelu_tanh;
        case ir::Activation::gelu_erf:
            return simd.gelu_erf;
        case ir::Activation::sigmoid:
            return simd.sigmoid;
    }
    return nullptr;
}

simd::BinaryFn gated_function(const simd::KernelTable& simd, ir::Activation activation) {
    switch (activation) {
        case ir::Activation::silu:
            return simd.silu_mul;
        case ir::Activation::gelu_tanh:
            return simd.gelu_tanh_mul;
        case ir::Activation::gelu_erf:
            return simd.gelu_erf_mul;
        case ir::Activation::sigmoid:
            return simd.sigmoid_mul;
    }
    return nullptr;
}

void activate_values(const KernelCall& call, int64_t begin, int64_t count) {
    activation_function(*call.simd, call.as<ir::Activate>().activation)(values_of(call, 0, begin),
                                                                        values_of_output(call, begin), count);
}

void gated_values(const KernelCall& call, int64_t begin, int64_t count) {
    gated_function(*call.simd, call.as<ir::GatedActivate>().activation)(
        values_of(call, 0, begin), values_of(call, 1, begin), values_of_output(call, begin), count);
}

void run_activate(const KernelCall& call, int64_t item, std::byte* /*workspace*/) {
    activation_function(*call.simd, call.as<ir::Activate>().activation)(
        in_row(call, 0, item), out_row(call, item), row_width(call.in(0)));
}

void run_gated(const KernelCall& call, int64_t item, std::byte* /*workspace*/) {
    gated_function(*call.simd, call.as<ir::GatedActivate>().activation)(
        in_row(call, 0, item), in_row(call, 1, item), out_row(call, item), row_width(call.in(0)));
}

void run_slice(const KernelCall& call, int64_t item, std::byte* /*workspace*/) {
    const auto& op = call.as<ir::Slice>();
    std::copy_n(in_row(call, 0, item) + op.begin, op.extent, out_row(call, item));
}

void run_zeros(const KernelCall& call, int64_t item, std::byte* /*workspace*/) {
    std::fill_n(out_row(call, item), row_width(call.out()), 0.0f);
}

void run_pad(const KernelCall& call, int64_t item, std::byte* /*workspace*/) {
    const auto& op = call.as<ir::Pad>();
    float* y = std::fill_n(out_row(call, item), op.before, 0.0f);
    y = std::copy_n(in_row(call, 0, item), row_width(call.in(0)), y);
    std::fill_n(y, op.after, 0.0f);
}

void run_concat(const KernelCall& call, int64_t item, std::byte* /*workspace*/) {
    float* y = out_row(call, item);
    for (size_t part = 0; part < call.operands.inputs.size(); ++part)
        y = std::copy_n(in_row(call, part, item), row_width(call.in(part)), y);
}

void run_gather(const KernelCall& call, int64_t item, std::byte* /*workspace*/) {
    std::copy_n(in_row(call, 0, call.in(1).as<int32_t>()[item]), row_width(call.in(0)), out_row(call, item));
}

// The table's row that an item wants; -1: it has none.
int64_t embed_row(const KernelCall& call, int64_t item) {
    return ir::place_among(call.in(1).as<int32_t>()[item], call.as<ir::Embed>().first_row,
                           call.in(0).desc.shape[0]);
}

void run_embed(const KernelCall& call, int64_t item, std::byte* /*workspace*/) {
    const ir::Operand& table = call.in(0);
    const int64_t row = embed_row(call, item);
    if (row < 0) return run_zeros(call, item, nullptr);
    dtype::info(table.desc.type).decode(table.row(row), out_row(call, item), row_width(table));
}

void run_embed_packed(const KernelCall& call, int64_t item, std::byte* /*workspace*/) {
    const ir::Operand& table = call.in(0);
    const int64_t row = embed_row(call, item);
    if (row < 0) return run_zeros(call, item, nullptr);
    decode_packed_row(table.desc.type, table.data, row, row_width(table), out_row(call, item));
}

// An item is one head; all heads of a token turn by the same angles.
void run_rope(const KernelCall& call, int64_t item, std::byte* /*workspace*/) {
    const int64_t heads = call.in(0).desc.shape[1];
    const int64_t width = row_width(call.in(0));
    const int64_t pairs = call.in(1).desc.shape[1];
    const float* angles = call.in(1).as<float>() + item / heads * pairs * 2;
    const bool adjacent = call.as<ir::Rope>().pairs == ir::RopePairs::adjacent;
    const int64_t step = adjacent ? 2 : 1;
    const int64_t partner = adjacent ? 1 : pairs;
    const float* x = in_row(call, 0, item);
    float* y = out_row(call, item);
    for (int64_t pair = 0; pair < pairs; ++pair) {
        const float a = x[pair * step], b = x[pair * step + partner];
        const float c = angles[pair * 2], s = angles[pair * 2 + 1];
        y[pair * step] = a * c - b * s;
        y[pair * step + partner] = a * s + b * c;
    }
    std::copy(x + 2 * pairs, x + width, y + 2 * pairs);
}

// Added slot by slot, in order.
void run_weighted_sum(const KernelCall& call, int64_t item, std::byte* /*workspace*/) {
    const int64_t used = call.in(1).desc.shape[1];
    const int64_t width = row_width(call.in(0));
    std::fill_n(out_row(call, item), width, 0.0f);
    by_format(call.simd->weighted_rows,
              ir::DType::F32)({.rows_begin = in_row(call, 0, item * used),
                               .row_bytes = width * static_cast<int64_t>(sizeof(float)),
                               .weights = in_row(call, 1, item),
                               .weights_stride = used,
                               .out = out_row(call, item),
                               .out_stride = width,
                               .rows = used,
                               .queries = 1,
                               .width = width});
}

int64_t row_stretch(const ir::Op& /*op*/, std::span<const ir::TensorDesc> /*inputs*/,
                    const ir::TensorDesc& output) {
    return output.shape.last();
}

int64_t one_item(const KernelCall&) { return 1; }

void run_reference(const KernelCall& call, int64_t /*item*/, std::byte* /*workspace*/) {
    ir::op_reference(*call.op, call.operands);
}

constexpr auto kF32 = device::formats(ir::DType::F32);

template <class OpType>
Kernel row_kernel(int64_t (*items)(const KernelCall&), void (*run)(const KernelCall&, int64_t, std::byte*),
                  device::FormatSet weights = kF32) {
    return {.support = {.op = ir::op_id_of<OpType>(),
                        .weight_formats = weights,
                        .state_formats = device::cache_formats()},
            .items = items,
            .run = run};
}

// For ops whose items are the output's innermost rows.
template <class OpType>
Kernel whole_row_kernel(int64_t (*items)(const KernelCall&),
                        void (*run)(const KernelCall&, int64_t, std::byte*)) {
    Kernel kernel = row_kernel<OpType>(items, run);
    kernel.stretch = row_stretch;
    return kernel;
}

// The same for ops on every value by itself.
template <class OpType>
Kernel value_kernel(void (*run)(const KernelCall&, int64_t, std::byte*),
                    void (*values)(const KernelCall&, int64_t, int64_t)) {
    Kernel kernel = whole_row_kernel<OpType>(row_items, run);
    kernel.values = values;
    return kernel;
}

template <class Norm>
Kernel norm_kernel() {
    Kernel kernel = whole_row_kernel<Norm>(row_items, run_norm<Norm>);
    kernel.by_head = true;
    kernel.by_everybody = true;
    return kernel;
}

}  // namespace

void add_row_kernels(const KernelChoice& choice, std::vector<Kernel>& list) {
    if (choice.packed) {
        Kernel packed = row_kernel<ir::Embed>(output_items, run_embed_packed, packable_formats());
        packed.support.weight_layout = kPackedLayout;
        list.push_back(packed);
    }
    list.push_back(row_kernel<ir::Embed>(output_items, run_embed, device::weight_formats()));
    list.push_back(norm_kernel<ir::RmsNorm>());
    list.push_back(norm_kernel<ir::LayerNorm>());
    list.push_back(row_kernel<ir::SumSquares>(output_items, run_sum_squares));
    list.push_back(whole_row_kernel<ir::RmsScale>(row_items, run_rms_scale));
    list.push_back(value_kernel<ir::Add>(run_add, add_values));
    list.push_back(whole_row_kernel<ir::Combine>(row_items, run_combine));
    list.push_back(value_kernel<ir::Scale>(run_scale, scale_values));
    list.push_back(whole_row_kernel<ir::Clamp>(row_items, run_clamp));
    list.push_back(whole_row_kernel<ir::SoftCap>(row_items, run_soft_cap));
    list.push_back(value_kernel<ir::Activate>(run_activate, activate_values));
    list.push_back(value_kernel<ir::GatedActivate>(run_gated, gated_values));
    list.push_back(whole_row_kernel<ir::ClampedSwiglu>(row_items, run_clamped_swiglu));
    list.push_back(whole_row_kernel<ir::AddExpertBias>(row_items, run_add_expert_bias));
    list.push_back(row_kernel<ir::Slice>(row_items, run_slice));
    list.push_back(whole_row_kernel<ir::Zeros>(output_row_items, run_zeros));
    list.push_back(whole_row_kernel<ir::Pad>(row_items, run_pad));
    list.push_back(whole_row_kernel<ir::Concat>(row_items, run_concat));
    list.push_back(row_kernel<ir::GatherRows>(output_items, run_gather));
    Kernel rope = row_kernel<ir::Rope>(row_items, run_rope);
    rope.by_head = true;
    list.push_back(rope);
    list.push_back(row_kernel<ir::WeightedSum>(output_items, run_weighted_sum));
    // Tiny, or waiting for the memory of one thread anyway.
    list.push_back(row_kernel<ir::RopeAngles>(one_item, run_reference));
    list.push_back(row_kernel<ir::CopyPages>(one_item, run_reference));
    list.push_back(row_kernel<ir::TopKExperts>(one_item, run_reference));
}

std::vector<Kernel> kernel_list(const KernelChoice& choice) {
    std::vector<Kernel> list;
    add_matmul_kernels(choice, list);
    add_attention_kernels(choice, list);
    add_row_kernels(choice, list);
    add_sampling_kernels(list);
    return list;
}

}  // namespace plait::backends::cpu
