#include "plait/ir/ops/norm.h"

#include <fmt/format.h>

#include <cmath>

namespace plait::ir {
namespace {

constexpr const char* kRmsNorm = "rms_norm";
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

// Sums run in double so that the reference's own error does not grow with n.
double mean(const float* x, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += x[i];
    return sum / static_cast<double>(n);
}

double mean_square(const float* x, int64_t n, double center) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += (x[i] - center) * (x[i] - center);
    return sum / static_cast<double>(n);
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
        .name = kRmsNorm, .infer = infer_rms_norm, .reference = rms_norm};
    return descriptor;
}

const Descriptor<LayerNorm>& LayerNorm::descriptor() {
    static const Descriptor<LayerNorm> descriptor{
        .name = kLayerNorm, .infer = infer_layer_norm, .reference = layer_norm};
    return descriptor;
}

}  // namespace plait::ir
