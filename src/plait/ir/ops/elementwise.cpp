#include "plait/ir/ops/elementwise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "plait/base/ensure.h"
#include "plait/base/error.h"
#include "plait/ir/ops/shard_rules.h"

namespace plait::ir {
namespace {

constexpr const char* kAdd = "add";
constexpr const char* kCombine = "combine";
constexpr const char* kScale = "scale";
constexpr const char* kSoftCap = "soft_cap";
constexpr const char* kClamp = "clamp";
constexpr const char* kActivate = "activate";
constexpr const char* kGatedActivate = "gated_activate";
constexpr const char* kClampedSwiglu = "clamped_swiglu";

std::vector<TensorDesc> infer_add(const Add&, std::span<const TensorDesc> inputs) {
    expect_input_count(kAdd, inputs, 2, 2);
    const TensorDesc& a = inputs[0];
    const TensorDesc& b = inputs[1];
    expect_shape(a.type == DType::F32 && a.shape.rank() == 2, kAdd, "a as F32 [rows, n]", a);
    const bool bias = b.type == DType::F32 && b.shape == Shape{a.shape[1]};
    expect_shape(b == a || bias, kAdd, fmt::format("b like a, {}, or as F32 [{}]", a.text(), a.shape[1]), b);
    return {a};
}

std::vector<TensorDesc> infer_combine(const Combine&, std::span<const TensorDesc> inputs) {
    expect_input_count(kCombine, inputs, 2, 2);
    const TensorDesc& a = inputs[0];
    expect_shape(a.type == DType::F32 && a.shape.rank() >= 2, kCombine, "a as F32 [rows, ..., n]", a);
    expect_shape(inputs[1] == a, kCombine, fmt::format("b like a, {}", a.text()), inputs[1]);
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

std::vector<TensorDesc> infer_soft_cap(const SoftCap& op, std::span<const TensorDesc> inputs) {
    ENSURE(op.cap > 0.0f, "a soft cap above 0");
    return infer_unary(kSoftCap, inputs);
}

std::vector<TensorDesc> infer_clamp(const Clamp& op, std::span<const TensorDesc> inputs) {
    if (!(op.limit > 0.0f))
        throw Error(fmt::format("{}: expected a limit above 0, found {}", kClamp, op.limit));
    return infer_unary(kClamp, inputs);
}

std::vector<TensorDesc> infer_activate(const Activate&, std::span<const TensorDesc> inputs) {
    return infer_unary(kActivate, inputs);
}

// Of ops on a gate and what it lets through.
std::vector<TensorDesc> infer_gating(const char* op, std::span<const TensorDesc> inputs) {
    expect_input_count(op, inputs, 2, 2);
    const TensorDesc& gate = inputs[0];
    expect_shape(gate.type == DType::F32 && gate.shape.rank() >= 2, op, "gate as F32 [rows, ..., n]", gate);
    expect_shape(inputs[1] == gate, op, fmt::format("up like gate, {}", gate.text()), inputs[1]);
    return {gate};
}

std::vector<TensorDesc> infer_gated(const GatedActivate&, std::span<const TensorDesc> inputs) {
    return infer_gating(kGatedActivate, inputs);
}

std::vector<TensorDesc> infer_clamped(const ClampedSwiglu&, std::span<const TensorDesc> inputs) {
    return infer_gating(kClampedSwiglu, inputs);
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

void soft_cap(const SoftCap& op, const Call& call) {
    map(call, [&](float x) { return op.cap * std::tanh(x / op.cap); });
}

void clamp(const Clamp& op, const Call& call) {
    map(call, [&](float x) { return std::clamp(x, -op.limit, op.limit); });
}

void activate_all(const Activate& op, const Call& call) {
    map(call, [&](float x) { return activate(op.activation, x); });
}

// fn(a, b) for every element.
template <class Fn>
void map2(const Call& call, const Fn& fn) {
    const Operand& a = call.inputs[0];
    const Operand& b = call.inputs[1];
    for (int64_t i = 0; i < actual_elements(call, a); ++i)
        call.outputs[0].as<float>()[i] = fn(a.as<float>()[i], b.as<float>()[i]);
}

void combine_all(const Combine& op, const Call& call) {
    map2(call, [&](float a, float b) { return combine(op.reduction, a, b); });
}

void gated_activate(const GatedActivate& op, const Call& call) {
    map2(call, [&](float gate, float up) { return activate(op.activation, gate) * up; });
}

void clamped_swiglu(const ClampedSwiglu& op, const Call& call) {
    map2(call, [&](float gate, float up) {
        const float g = std::min(gate, op.limit);
        const float u = std::clamp(up, -op.limit, op.limit);
        return g / (1.0f + std::exp(-op.alpha * g)) * (u + 1.0f);
    });
}

float silu(float x) { return x / (1.0f + std::exp(-x)); }

float gelu_tanh(float x) {
    constexpr float kSqrt2OverPi = 0.79788456f;
    return 0.5f * x * (1.0f + std::tanh(kSqrt2OverPi * (x + 0.044715f * x * x * x)));
}

// erfc keeps the digits that 1 + erf loses for x far below 0.
float gelu_erf(float x) {
    constexpr float kSqrtHalf = std::numbers::sqrt2_v<float> / 2;
    return 0.5f * x * std::erfc(-kSqrtHalf * x);
}

// Neither is a NaN.
float smaller(float a, float b) {
    if (a == b) return std::signbit(a) ? a : b;
    return a < b ? a : b;
}

}  // namespace

float combine(Reduction reduction, float a, float b) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<float>::quiet_NaN();
    switch (reduction) {
        case Reduction::sum:
            return a + b;
        case Reduction::max:
            return -smaller(-a, -b);
        case Reduction::min:
            return smaller(a, b);
    }
    ENSURE(false, "every reduction has a function");
}

const char* reduction_name(Reduction reduction) {
    switch (reduction) {
        case Reduction::sum:
            return "sum";
        case Reduction::max:
            return "max";
        case Reduction::min:
            return "min";
    }
    ENSURE(false, "every reduction has a name");
}

const char* activation_name(Activation activation) {
    switch (activation) {
        case Activation::silu:
            return "silu";
        case Activation::gelu_tanh:
            return "gelu_tanh";
        case Activation::gelu_erf:
            return "gelu_erf";
        case Activation::sigmoid:
            return "sigmoid";
    }
    ENSURE(false, "every activation has a name");
}

float activate(Activation activation, float x) {
    switch (activation) {
        case Activation::silu:
            return silu(x);
        case Activation::gelu_tanh:
            return gelu_tanh(x);
        case Activation::gelu_erf:
            return gelu_erf(x);
        case Activation::sigmoid:
            return 1.0f / (1.0f + std::exp(-x));
    }
    ENSURE(false, "every activation has a function");
}

const Descriptor<Add>& Add::descriptor() {
    static const Descriptor<Add> descriptor{
        .name = kAdd, .infer = infer_add, .reference = add, .shard = shard};
    return descriptor;
}

const Descriptor<Combine>& Combine::descriptor() {
    static const Descriptor<Combine> descriptor{
        .name = kCombine, .infer = infer_combine, .reference = combine_all};
    return descriptor;
}

const Descriptor<Scale>& Scale::descriptor() {
    static const Descriptor<Scale> descriptor{
        .name = kScale, .infer = infer_scale, .reference = scale, .linear_in = 1u << 0, .shard = shard};
    return descriptor;
}

const Descriptor<SoftCap>& SoftCap::descriptor() {
    static const Descriptor<SoftCap> descriptor{
        .name = kSoftCap, .infer = infer_soft_cap, .reference = soft_cap, .shard = shard};
    return descriptor;
}

const Descriptor<Clamp>& Clamp::descriptor() {
    static const Descriptor<Clamp> descriptor{
        .name = kClamp, .infer = infer_clamp, .reference = clamp, .shard = shard};
    return descriptor;
}

const Descriptor<Activate>& Activate::descriptor() {
    static const Descriptor<Activate> descriptor{
        .name = kActivate, .infer = infer_activate, .reference = activate_all, .shard = shard};
    return descriptor;
}

const Descriptor<GatedActivate>& GatedActivate::descriptor() {
    static const Descriptor<GatedActivate> descriptor{
        .name = kGatedActivate, .infer = infer_gated, .reference = gated_activate, .shard = shard};
    return descriptor;
}

const Descriptor<ClampedSwiglu>& ClampedSwiglu::descriptor() {
    static const Descriptor<ClampedSwiglu> descriptor{
        .name = kClampedSwiglu, .infer = infer_clamped, .reference = clamped_swiglu, .shard = shard};
    return descriptor;
}

}  // namespace plait::ir
