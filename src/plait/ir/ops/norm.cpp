#include "plait/ir/ops/norm.h"

#include <fmt/format.h>

#include <cmath>
#include "plait/ir/ops/shard_rules.h"

namespace plait::ir {
namespace {

constexpr const char* kRmsNorm = "rms_norm";
constexpr const char* kSumSquares = "sum_squares";
constexpr const char* kRmsScale = "rms_scale";
constexpr const char* kLayerNorm = "layer_norm";

void expect_x(const char* op, const TensorDesc& x) {
    expect_shape(x.type == DType::F32 && x.shape.rank() >= 2 && x.shape.last() > 0, op,
                 "x as F32 [rows, ..., n]", x);
}

void expect_parameter(const char* op, const char* name, const TensorDesc& parameter, const TensorDesc& x) {
    const int64_t n = x.shape.last();
    const bool by_head = x.shape.rank() == 3 && parameter.shape == Shape{x.shape[1], n};
    expect_shape(
        parameter.type == DType::F32 && (parameter.shape == Shape{n} || by_head), op,
        fmt::format("{} as F32 [{}], the innermost extent of x, or a row of it for each head", name, n),
        parameter);
}

std::vector<TensorDesc> infer_rms_norm(const RmsNorm&, std::span<const TensorDesc> inputs) {
    expect_input_count(kRmsNorm, inputs, 2, 2);
    expect_x(kRmsNorm, inputs[0]);
    expect_parameter(kRmsNorm, "w", inputs[1], inputs[0]);
    return {inputs[0]};
}

std::vector<TensorDesc> infer_layer_norm(const LayerNorm&, std::span<const TensorDesc> inputs) {
    expect_input_count(kLayerNorm, inputs, 2, 3);
    expect_x(kLayerNorm, inputs[0]);
    expect_parameter(kLayerNorm, "w", inputs[1], inputs[0]);
    if (inputs.size() == 3) expect_parameter(kLayerNorm, "b", inputs[2], inputs[0]);
    return {inputs[0]};
}

void expect_part(const char* op, const TensorDesc& x) {
    expect_shape(x.type == DType::F32 && x.shape.rank() == 2 && x.shape[1] > 0, op, "x as F32 [rows, n]", x);
}

std::vector<TensorDesc> infer_sum_squares(const SumSquares&, std::span<const TensorDesc> inputs) {
    expect_input_count(kSumSquares, inputs, 1, 1);
    const TensorDesc& x = inputs[0];
    expect_part(kSumSquares, x);
    return {{DType::F32, {x.shape[0], 1}, x.rows}};
}

std::vector<TensorDesc> infer_rms_scale(const RmsScale& op, std::span<const TensorDesc> inputs) {
    expect_input_count(kRmsScale, inputs, 3, 3);
    const TensorDesc& x = inputs[0];
    expect_part(kRmsScale, x);
    expect_shape(x.shape[1] <= op.whole, kRmsScale, fmt::format("a part of rows of {} values", op.whole), x);
    const TensorDesc sums{DType::F32, {x.shape[0], 1}, x.rows};
    expect_shape(inputs[1] == sums, kRmsScale, fmt::format("sums as {}", sums.text()), inputs[1]);
    const TensorDesc w{DType::F32, {x.shape[1]}};
    expect_shape(inputs[2] == w, kRmsScale, fmt::format("w as {}", w.text()), inputs[2]);
    return {x};
}

// Sums run in double so that the reference's own error does not grow with n.
double mean(const float* x, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += x[i];
    return sum / static_cast<double>(n);
}

double sum_square(const float* x, int64_t n, double center) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += (x[i] - center) * (x[i] - center);
    return sum;
}

double mean_square(const float* x, int64_t n, double center) {
    return sum_square(x, n, center) / static_cast<double>(n);
}

// The parameter's row for a row of x: heads take turns.
const float* parameter_row(const Operand& parameter, int64_t row) {
    return parameter.as<float>() + row % parameter.desc.row_count() * parameter.desc.shape.last();
}

void rms_norm(const RmsNorm& op, const Call& call) {
    const int64_t n = call.inputs[0].desc.shape.last();
    for (int64_t row = 0; row < call.inner_rows(call.inputs[0]); ++row) {
        const float* x = call.inputs[0].as<float>() + row * n;
        const float* w = parameter_row(call.inputs[1], row);
        float* y = call.outputs[0].as<float>() + row * n;
        const auto scale = static_cast<float>(1.0 / std::sqrt(mean_square(x, n, 0.0) + op.epsilon));
        for (int64_t i = 0; i < n; ++i) y[i] = x[i] * scale * w[i];
    }
}

void sum_squares(const SumSquares&, const Call& call) {
    const int64_t n = call.inputs[0].desc.shape[1];
    for (int64_t row = 0; row < call.rows(call.inputs[0]); ++row) {
        call.outputs[0].as<float>()[row] =
            static_cast<float>(sum_square(call.inputs[0].as<float>() + row * n, n, 0.0));
    }
}

void rms_scale(const RmsScale& op, const Call& call) {
    const int64_t n = call.inputs[0].desc.shape[1];
    const float* w = call.inputs[2].as<float>();
    for (int64_t row = 0; row < call.rows(call.inputs[0]); ++row) {
        const float* x = call.inputs[0].as<float>() + row * n;
        float* y = call.outputs[0].as<float>() + row * n;
        const double mean = call.inputs[1].as<float>()[row] / static_cast<double>(op.whole);
        const auto scale = static_cast<float>(1.0 / std::sqrt(mean + op.epsilon));
        for (int64_t i = 0; i < n; ++i) y[i] = x[i] * scale * w[i];
    }
}

void layer_norm(const LayerNorm& op, const Call& call) {
    const int64_t n = call.inputs[0].desc.shape.last();
    for (int64_t row = 0; row < call.inner_rows(call.inputs[0]); ++row) {
        const float* x = call.inputs[0].as<float>() + row * n;
        const float* w = parameter_row(call.inputs[1], row);
        const float* b = call.inputs.size() == 3 ? parameter_row(call.inputs[2], row) : nullptr;
        float* y = call.outputs[0].as<float>() + row * n;
        const double center = mean(x, n);
        const double scale = 1.0 / std::sqrt(mean_square(x, n, center) + op.epsilon);
        for (int64_t i = 0; i < n; ++i) {
            const float scaled = static_cast<float>((x[i] - center) * scale) * w[i];
            y[i] = b == nullptr ? scaled : scaled + b[i];
        }
    }
}

}  // namespace

const Descriptor<RmsNorm>& RmsNorm::descriptor() {
    static const Descriptor<RmsNorm> descriptor{
        .name = kRmsNorm, .infer = infer_rms_norm, .reference = rms_norm, .shard = shard};
    return descriptor;
}

const Descriptor<SumSquares>& SumSquares::descriptor() {
    static const Descriptor<SumSquares> descriptor{
        .name = kSumSquares, .infer = infer_sum_squares, .reference = sum_squares};
    return descriptor;
}

const Descriptor<RmsScale>& RmsScale::descriptor() {
    static const Descriptor<RmsScale> descriptor{
        .name = kRmsScale, .infer = infer_rms_scale, .reference = rms_scale, .linear_in = 1u << 0};
    return descriptor;
}

const Descriptor<LayerNorm>& LayerNorm::descriptor() {
    static const Descriptor<LayerNorm> descriptor{
        .name = kLayerNorm, .infer = infer_layer_norm, .reference = layer_norm, .shard = shard};
    return descriptor;
}

}  // namespace plait::ir
