#include "plait/ir/ops/reshape.h"

#include <fmt/format.h>

#include <algorithm>

#include "plait/base/ensure.h"

namespace plait::ir {
namespace {

constexpr const char* kSplitHeads = "split_heads";
constexpr const char* kMergeHeads = "merge_heads";
constexpr const char* kSlice = "slice";
constexpr const char* kGatherRows = "gather_rows";

std::vector<TensorDesc> infer_split(const SplitHeads& op, std::span<const TensorDesc> inputs) {
    expect_input_count(kSplitHeads, inputs, 1, 1);
    const TensorDesc& x = inputs[0];
    expect_shape(x.type == DType::F32 && x.shape.rank() == 2, kSplitHeads, "x as F32 [rows, heads * width]",
                 x);
    expect_shape(op.heads > 0 && x.shape[1] % op.heads == 0, kSplitHeads,
                 fmt::format("features that {} heads can share", op.heads), x);
    return {{DType::F32, {x.shape[0], op.heads, x.shape[1] / op.heads}, x.rows}};
}

std::vector<TensorDesc> infer_merge(const MergeHeads&, std::span<const TensorDesc> inputs) {
    expect_input_count(kMergeHeads, inputs, 1, 1);
    const TensorDesc& x = inputs[0];
    expect_shape(x.type == DType::F32 && x.shape.rank() == 3, kMergeHeads, "x as F32 [rows, heads, width]",
                 x);
    return {{DType::F32, {x.shape[0], x.shape[1] * x.shape[2]}, x.rows}};
}

std::vector<TensorDesc> infer_slice(const Slice& op, std::span<const TensorDesc> inputs) {
    expect_input_count(kSlice, inputs, 1, 1);
    const TensorDesc& x = inputs[0];
    expect_shape(x.type == DType::F32 && x.shape.rank() == 2, kSlice, "x as F32 [rows, n]", x);
    expect_shape(
        op.begin >= 0 && op.extent > 0 && op.begin <= x.shape[1] && op.extent <= x.shape[1] - op.begin,
        kSlice, fmt::format("x with features {} to {}", op.begin, op.begin + op.extent - 1), x);
    return {{DType::F32, {x.shape[0], op.extent}, x.rows}};
}

std::vector<TensorDesc> infer_gather(const GatherRows&, std::span<const TensorDesc> inputs) {
    expect_input_count(kGatherRows, inputs, 2, 2);
    const TensorDesc& x = inputs[0];
    const TensorDesc& rows = inputs[1];
    expect_shape(x.type == DType::F32 && x.shape.rank() == 2, kGatherRows, "x as F32 [tokens, n]", x);
    expect_shape(rows.type == DType::I32 && rows.shape.rank() == 1, kGatherRows, "rows as I32 [outputs]",
                 rows);
    return {{DType::F32, {rows.shape[0], x.shape[1]}, rows.rows}};
}

void slice(const Slice& op, const Call& call) {
    const Operand& x = call.inputs[0];
    const int64_t n = x.desc.shape[1];
    for (int64_t row = 0; row < call.rows(x); ++row) {
        std::copy_n(x.as<float>() + row * n + op.begin, op.extent,
                    call.outputs[0].as<float>() + row * op.extent);
    }
}

void gather_rows(const GatherRows&, const Call& call) {
    const Operand& x = call.inputs[0];
    const Operand& rows = call.inputs[1];
    const int64_t n = x.desc.shape[1];
    for (int64_t row = 0; row < call.rows(rows); ++row) {
        const int32_t from = rows.as<int32_t>()[row];
        DEBUG_ENSURE(from >= 0 && from < call.rows(x), "a wanted row exists");
        std::copy_n(x.as<float>() + from * n, n, call.outputs[0].as<float>() + row * n);
    }
}

}  // namespace

const Descriptor<SplitHeads>& SplitHeads::descriptor() {
    static const Descriptor<SplitHeads> descriptor{
        .name = kSplitHeads, .infer = infer_split, .reference = nullptr, .linear_in = 1u << 0, .view = true};
    return descriptor;
}

const Descriptor<MergeHeads>& MergeHeads::descriptor() {
    static const Descriptor<MergeHeads> descriptor{
        .name = kMergeHeads, .infer = infer_merge, .reference = nullptr, .linear_in = 1u << 0, .view = true};
    return descriptor;
}

const Descriptor<Slice>& Slice::descriptor() {
    static const Descriptor<Slice> descriptor{
        .name = kSlice, .infer = infer_slice, .reference = slice, .linear_in = 1u << 0};
    return descriptor;
}

const Descriptor<GatherRows>& GatherRows::descriptor() {
    static const Descriptor<GatherRows> descriptor{
        .name = kGatherRows, .infer = infer_gather, .reference = gather_rows, .linear_in = 1u << 0};
    return descriptor;
}

}  // namespace plait::ir
