#include "plait/ir/ops/reshape.h"

#include <fmt/format.h>

#include <algorithm>

#include "plait/base/ensure.h"
#include "plait/ir/ops/shard_rules.h"

namespace plait::ir {
namespace {

constexpr const char* kSplitHeads = "split_heads";
constexpr const char* kMergeHeads = "merge_heads";
constexpr const char* kSlice = "slice";
constexpr const char* kZeros = "zeros";
constexpr const char* kPad = "pad";
constexpr const char* kConcat = "concat";
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

std::vector<TensorDesc> infer_zeros(const Zeros& op, std::span<const TensorDesc> inputs) {
    expect_input_count(kZeros, inputs, 0, 0);
    const TensorDesc zeros{DType::F32, op.shape, op.rows};
    expect_shape(op.shape.rank() >= 2, kZeros, "a shape [rows, ..., n]", zeros);
    return {zeros};
}

std::vector<TensorDesc> infer_pad(const Pad& op, std::span<const TensorDesc> inputs) {
    ENSURE(op.before >= 0 && op.after >= 0, "margins of padding");
    expect_input_count(kPad, inputs, 1, 1);
    TensorDesc padded = inputs[0];
    expect_shape(padded.type == DType::F32 && padded.shape.rank() >= 2, kPad, "x as F32 [rows, ..., n]",
                 padded);
    padded.shape[padded.shape.rank() - 1] += op.before + op.after;
    return {padded};
}

std::vector<TensorDesc> infer_concat(const Concat&, std::span<const TensorDesc> inputs) {
    expect_input_count(kConcat, inputs, 1, kAnyCount);
    int64_t features = 0;
    for (const TensorDesc& part : inputs) {
        expect_shape(part.type == DType::F32 && part.shape.rank() == 2, kConcat, "parts as F32 [rows, n]",
                     part);
        expect_shape(part.shape[0] == inputs[0].shape[0] && part.rows == inputs[0].rows, kConcat,
                     fmt::format("{} rows as the first part has", inputs[0].shape[0]), part);
        features += part.shape[1];
    }
    return {{DType::F32, {inputs[0].shape[0], features}, inputs[0].rows}};
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

void zeros(const Zeros&, const Call& call) {
    const Operand& y = call.outputs[0];
    std::fill_n(y.as<float>(), call.inner_rows(y) * y.desc.shape.last(), 0.0f);
}

void pad(const Pad& op, const Call& call) {
    const Operand& x = call.inputs[0];
    const int64_t n = x.desc.shape.last();
    for (int64_t row = 0; row < call.inner_rows(x); ++row) {
        float* y = call.outputs[0].as<float>() + row * (op.before + n + op.after);
        std::fill_n(y, op.before, 0.0f);
        std::copy_n(x.as<float>() + row * n, n, y + op.before);
        std::fill_n(y + op.before + n, op.after, 0.0f);
    }
}

void concat(const Concat&, const Call& call) {
    float* y = call.outputs[0].as<float>();
    for (int64_t row = 0; row < call.rows(call.outputs[0]); ++row) {
        for (const Operand& part : call.inputs) {
            const int64_t n = part.desc.shape[1];
            y = std::copy_n(part.as<float>() + row * n, n, y);
        }
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
    static const Descriptor<SplitHeads> descriptor{.name = kSplitHeads,
                                                   .infer = infer_split,
                                                   .reference = nullptr,
                                                   .linear_in = 1u << 0,
                                                   .view = true,
                                                   .shard = shard};
    return descriptor;
}

const Descriptor<MergeHeads>& MergeHeads::descriptor() {
    static const Descriptor<MergeHeads> descriptor{.name = kMergeHeads,
                                                   .infer = infer_merge,
                                                   .reference = nullptr,
                                                   .linear_in = 1u << 0,
                                                   .view = true,
                                                   .shard = shard};
    return descriptor;
}

const Descriptor<Slice>& Slice::descriptor() {
    static const Descriptor<Slice> descriptor{
        .name = kSlice, .infer = infer_slice, .reference = slice, .linear_in = 1u << 0, .shard = shard};
    return descriptor;
}

const Descriptor<Zeros>& Zeros::descriptor() {
    static const Descriptor<Zeros> descriptor{.name = kZeros, .infer = infer_zeros, .reference = zeros};
    return descriptor;
}

const Descriptor<Pad>& Pad::descriptor() {
    static const Descriptor<Pad> descriptor{
        .name = kPad, .infer = infer_pad, .reference = pad, .linear_in = 1u << 0};
    return descriptor;
}

// Linear in all parts together, but in none alone: the others would be added as often as it has terms.
const Descriptor<Concat>& Concat::descriptor() {
    static const Descriptor<Concat> descriptor{.name = kConcat, .infer = infer_concat, .reference = concat};
    return descriptor;
}

const Descriptor<GatherRows>& GatherRows::descriptor() {
    static const Descriptor<GatherRows> descriptor{.name = kGatherRows,
                                                   .infer = infer_gather,
                                                   .reference = gather_rows,
                                                   .linear_in = 1u << 0,
                                                   .shard = shard};
    return descriptor;
}

}  // namespace plait::ir
