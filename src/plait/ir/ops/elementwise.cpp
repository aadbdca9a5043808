#include "plait/ir/ops/elementwise.h"

#include <fmt/format.h>

#include <cmath>

#include "plait/base/ensure.h"

namespace plait::ir {
namespace {

constexpr const char* kAdd = "add";
constexpr const char* kScale = "scale";
constexpr const char* kActivate = "activate";
constexpr const char* kGatedActivate = "gated_activate";

std::vector<TensorDesc> infer_add(const Add&, std::span<const TensorDesc> inputs) {
    expect_input_count(kAdd, inputs, 2, 2);
    const TensorDesc& a = inputs[0];
    const TensorDesc& b = inputs[1];
    expect_shape(a.type == DType::F32 && a.shape.rank() == 2, kAdd, "a as F32 [rows, n]", a);
    const bool bias = b.type == DType::F32 && b.shape == Shape{a.shape[1]};
    expect_shape(b == a || bias, kAdd, fmt::format("b like a, {}, or as F32 [{}]", a.text(), a.shape[1]), b);
    return {a};
}

// Of ops that take one value and give another like it.
std::vector<TensorDesc> infer_unary(const char* op, std::span<const TensorDesc> inputs) {
    expect_input_count(op, inputs, 1, 1);
    expect_shape(inputs[0].type == DType::F32 && inputs[0].shape.rank() >= 2, op, "x as F32 [rows, ..., n]",
                 inputs[0]);
    return {inputs[0]};
}

std::vector<TensorDesc> infer_scale(const Scale&, std::span<const TensorDesc> inputs) {
    return infer_unary(kScale, inputs);
}

std::vector<TensorDesc> infer_activate(const Activate&, std::span<const TensorDesc> inputs) {
    return infer_unary(kActivate, inputs);
}

std::vector<TensorDesc> infer_gated(const GatedActivate&, std::span<const TensorDesc> inputs) {
    expect_input_count(kGatedActivate, inputs, 2, 2);
    const TensorDesc& gate = inputs[0];
    expect_shape(gate.type == DType::F32 && gate.shape.rank() >= 2, kGatedActivate,
                 "gate as F32 [rows, ..., n]", gate);
    expect_shape(inputs[1] == gate, kGatedActivate, fmt::format("up like gate, {}", gate.text()), inputs[1]);
    return {gate};
}

int64_t actual_elements(const Call& call, const Operand& x) {
    return call.inner_rows(x) * x.desc.shape.last();
}

void add(const Add&, const Call& call) {
    const Operand& a = call.inputs[0];
    const Operand& b = call.inputs[1];
    const int64_t n = a.desc.shape[1];
    const bool bias = b.desc.shape.rank() == 1;
    for (int64_t i = 0; i < actual_elements(call, a); ++i)
        call.outputs[0].as<float>()[i] = a.as<float>()[i] + b.as<float>()[bias ? i % n : i];
}

// fn(x) for every element.
template <class Fn>
void map(const Call& call, const Fn& fn) {
    const Operand& x = call.inputs[0];
    for (int64_t i = 0; i < actual_elements(call, x); ++i)
        call.outputs[0].as<float>()[i] = fn(x.as<float>()[i]);
}

void scale(const Scale& op, const Call& call) {
    map(call, [&](float x) { return x * op.factor; });
}

void activate_all(const Activate& op, const Call& call) {
    map(call, [&](float x) { return activate(op.activation, x); });
}

void gated_activate(const GatedActivate& op, const Call& call) {
    const Operand& gate = call.inputs[0];
    const Operand& up = call.inputs[1];
    for (int64_t i = 0; i < actual_elements(call, gate); ++i)
        call.outputs[0].as<float>()[i] = activate(op.activation, gate.as<float>()[i]) * up.as<float>()[i];
}

float silu(float x) { return x / (1.0f + std::exp(-x)); }

float gelu_tanh(float x) {
    constexpr float kSqrt2OverPi = 0.79788456f;
    return 0.5f * x * (1.0f + std::tanh(kSqrt2OverPi * (x + 0.044715f * x * x * x)));
}

}  // namespace

float activate(Activation activation, float x) {
    switch (activation) {
        case Activation::silu:
            return silu(x);
        case Activation::gelu_tanh:
            return gelu_tanh(x);
    }
    ENSURE(false, "every activation has a function");
}

const Descriptor<Add>& Add::descriptor() {
    static const Descriptor<Add> descriptor{.name = kAdd, .infer = infer_add, .reference = add};
    return descriptor;
}

const Descriptor<Scale>& Scale::descriptor() {
    static const Descriptor<Scale> descriptor{
        .name = kScale, .infer = infer_scale, .reference = scale, .linear_in = 1u << 0};
    return descriptor;
}

const Descriptor<Activate>& Activate::descriptor() {
    static const Descriptor<Activate> descriptor{
        .name = kActivate, .infer = infer_activate, .reference = activate_all};
    return descriptor;
}

const Descriptor<GatedActivate>& GatedActivate::descriptor() {
    static const Descriptor<GatedActivate> descriptor{
        .name = kGatedActivate, .infer = infer_gated, .reference = gated_activate};
    return descriptor;
}

}  // namespace plait::ir
