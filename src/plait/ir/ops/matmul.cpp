#include "plait/ir/ops/matmul.h"

#include <fmt/format.h>

#include <algorithm>

#include "plait/base/ensure.h"
#include "plait/ir/ops/shard_rules.h"

namespace plait::ir {
namespace {

constexpr const char* kMatmul = "matmul";
constexpr const char* kMatmulExperts = "matmul_experts";

// Weights decoded at a time: a multiple of every block, small enough for any stack.
constexpr int64_t kChunk = 256;

void expect_weight(const char* op, const char* form, int rank, const TensorDesc& w, int64_t in) {
    expect_shape(w.type != DType::I32 && w.shape.rank() == rank, op,
                 fmt::format("w as {} of a weight format", form), w);
    expect_shape(w.shape.last() == in && in > 0, op, fmt::format("w of {} columns as x has", in), w);
    const int32_t block = dtype::info(w.type).block_elements;
    expect_shape(in % block == 0, op, fmt::format("columns of w that are a multiple of {}", block), w);
}

std::vector<TensorDesc> infer_matmul(const Matmul&, std::span<const TensorDesc> inputs) {
    expect_input_count(kMatmul, inputs, 2, 2);
    const TensorDesc& x = inputs[0];
    expect_shape(x.type == DType::F32 && x.shape.rank() == 2, kMatmul, "x as F32 [rows, in]", x);
    expect_weight(kMatmul, "[out, in]", 2, inputs[1], x.shape[1]);
    return {{DType::F32, {x.shape[0], inputs[1].shape[0]}, x.rows}};
}

std::vector<TensorDesc> infer_matmul_experts(const MatmulExperts& op, std::span<const TensorDesc> inputs) {
    ENSURE(op.first_expert >= 0, "experts that have a matrix");
    expect_input_count(kMatmulExperts, inputs, 3, 3);
    const TensorDesc& x = inputs[0];
    const TensorDesc& w = inputs[1];
    const TensorDesc& ids = inputs[2];
    expect_shape(x.type == DType::F32 && (x.shape.rank() == 2 || x.shape.rank() == 3), kMatmulExperts,
                 "x as F32 [rows, in] or [rows, used, in]", x);
    expect_weight(kMatmulExperts, "[experts, out, in]", 3, w, x.shape.last());
    expect_shape(ids.type == DType::I32 && ids.shape.rank() == 2, kMatmulExperts, "ids as I32 [rows, used]",
                 ids);
    expect_shape(ids.shape[0] == x.shape[0] && ids.rows == x.rows, kMatmulExperts,
                 fmt::format("ids of {} rows as x has", x.shape[0]), ids);
    if (x.shape.rank() == 3) {
        expect_shape(ids.shape[1] == x.shape[1], kMatmulExperts,
                     fmt::format("{} ids per row as x has slots", x.shape[1]), ids);
    }
    return {{DType::F32, {ids.shape[0], ids.shape[1], w.shape[1]}, x.rows}};
}

// Adds the product of one chunk to y. The chunk's own sum runs in double, so that the reference's rounding
// error stays small beside a kernel's.
void add_chunk(const float* w, const float* x, int64_t n, float& y) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(w[i]) * x[i];
    y += static_cast<float>(sum);
}

// Every stride-th float, or rows of floats that far apart.
struct Strided {
    float* data;
    int64_t count;
    int64_t stride;
};

// y[r] = w . x[r] for every row, y having one element per row. Every element sees the same additions in the
// same order however many rows there are.
void multiply_row(const dtype::DTypeInfo& format, const std::byte* w, int64_t in, Strided x, Strided y) {
    float chunk[kChunk];
    for (int64_t r = 0; r < x.count; ++r) y.data[r * y.stride] = 0.0f;
    for (int64_t begin = 0; begin < in; begin += kChunk) {
        const int64_t n = std::min(kChunk, in - begin);
        format.decode(w + dtype::row_bytes(format.type, begin), chunk, n);
        for (int64_t r = 0; r < x.count; ++r)
            add_chunk(chunk, x.data + r * x.stride + begin, n, y.data[r * y.stride]);
    }
}

void matmul(const Matmul&, const Call& call) {
    const Operand& x = call.inputs[0];
    const Operand& w = call.inputs[1];
    const dtype::DTypeInfo& format = dtype::info(w.desc.type);
    const int64_t rows = call.rows(x);
    const int64_t out = w.desc.shape[0];
    const int64_t in = w.desc.shape[1];
    for (int64_t o = 0; o < out; ++o) {
        multiply_row(format, w.row(o), in, {x.as<float>(), rows, in},
                     {call.outputs[0].as<float>() + o, rows, out});
    }
}

void matmul_experts(const MatmulExperts& op, const Call& call) {
    const Operand& x = call.inputs[0];
    const Operand& w = call.inputs[1];
    const Operand& ids = call.inputs[2];
    const dtype::DTypeInfo& format = dtype::info(w.desc.type);
    const int64_t used = ids.desc.shape[1];
    const int64_t out = w.desc.shape[1];
    const int64_t in = w.desc.shape[2];
    const bool x_per_slot = x.desc.shape.rank() == 3;
    for (int64_t slot = 0; slot < call.rows(ids) * used; ++slot) {
        const int64_t expert = place_among(ids.as<int32_t>()[slot], op.first_expert, w.desc.shape[0]);
        float* x_row = x.as<float>() + (x_per_slot ? slot : slot / used) * in;
        float* y_row = call.outputs[0].as<float>() + slot * out;
        if (expert < 0) {
            std::fill_n(y_row, out, 0.0f);
            continue;
        }
        for (int64_t o = 0; o < out; ++o)
            multiply_row(format, w.row(expert * out + o), in, {x_row, 1, in}, {y_row + o, 1, out});
    }
}

}  // namespace

const Descriptor<Matmul>& Matmul::descriptor() {
    static const Descriptor<Matmul> descriptor{
        .name = kMatmul, .infer = infer_matmul, .reference = matmul, .linear_in = 1u << 0, .shard = shard};
    return descriptor;
}

const Descriptor<MatmulExperts>& MatmulExperts::descriptor() {
    static const Descriptor<MatmulExperts> descriptor{.name = kMatmulExperts,
                                                      .infer = infer_matmul_experts,
                                                      .reference = matmul_experts,
                                                      .linear_in = 1u << 0,
                                                      .shard = shard};
    return descriptor;
}

}  // namespace plait::ir
